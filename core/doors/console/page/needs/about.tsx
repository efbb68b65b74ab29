import type { WaitingItem } from "../../../http/waiting-item.ts";
import { type ConflictFacts, ConflictList } from "../conflict-item.tsx";
import { Input } from "../event-row.tsx";
import { Command } from "../parts.tsx";
import { plainText } from "../shown-text.ts";
import { LongText, Text } from "../text.tsx";
import { askedText, commandOf, saysAll } from "./asked-text.ts";

type Subject = Pick<WaitingItem, "title" | "text" | "command" | "input" | "kind" | "request_id">;

/** Subject of an item below its title: the agent's words, and the whole of what the title cannot hold. */
export function About({ item }: { item: Subject }) {
  const { kind, title, text, command, input, request_id } = item;
  const asked = askedText(item);
  const isTold = text === "" || saysAll(asked, text) || saysAll(plainText(title), text);
  const isWhole = saysAll(asked, commandOf(item) ?? "") && !(commandOf(item) ?? "").includes("\n");
  return (
    <>
      {!isTold &&
        (request_id === null || kind === "question" ? <LongText of={text} class="prose" /> : (
          <p class="item-says">
            <Text of={plainText(text, 600)} />
          </p>
        ))}
      {kind === "conflict" && <ConflictList of={input as ConflictFacts} />}
      {command !== null && (
        <p class="quiet-line terminal-line">
          In a terminal: <Command text={command} />
        </p>
      )}
      {request_id !== null && input !== null && input !== undefined && !isWhole && <Input of={input} />}
    </>
  );
}
