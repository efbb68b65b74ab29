import { useTakeBack } from "../parts.tsx";
import { useState } from "preact/hooks";
import type { WaitingItem } from "../../../http/waiting-item.ts";
import { Input } from "../event-row.tsx";
import { onEscape, useFocusBack, useFocusInto } from "../focus.ts";
import { plainText } from "../shown-text.ts";
import { Text } from "../text.tsx";
import { commandOf } from "./asked-text.ts";

/** Whether one answer may go to both: permissions for the same tool, with the same choices. A question is never in a batch. */
export function isAlike(a: WaitingItem, b: WaitingItem): boolean {
  return a.kind === "permission" && b.kind === "permission" && a.tool === b.tool && choicesOf(a) === choicesOf(b);
}

function choicesOf({ choices }: WaitingItem): string {
  return JSON.stringify(choices.map(({ label, kind }) => [label, kind]));
}

interface BatchProps {
  picked: readonly WaitingItem[];
  /** Choice that is about to be given to all of them; null while none is. */
  index: number | null;
  choose(index: number | null): void;
  /** Sends the answers. */
  send(items: readonly WaitingItem[], index: number): void;
  clear(): void;
}

/** Several like requests: their choices, then what would be answered, then a few seconds to take it back. */
export function Batch({ picked, index, choose, send, clear }: BatchProps) {
  const [confirmed, setConfirmed] = useState<readonly WaitingItem[] | null>(null);
  const choices = picked[0]?.choices ?? [];
  const first = useFocusBack(index !== null);
  const undo = () => (setConfirmed(null), choose(null));
  return (
    <div class="together" role="group" aria-label="Answer the selected ones together">
      {index === null
        ? (
          <>
            <b>{picked.length} selected</b>
            {choices.map(({ label, id }, at) => (
              <button
                {...at === 0 ? { ref: first } : {}}
                type="button"
                onClick={() => choose(at)}
              >
                <kbd>{at + 1}</kbd> {plainText(label || id, 60)}
              </button>
            ))}
            <button type="button" class="plain" onClick={clear}>Clear</button>
          </>
        )
        : confirmed === null
        ? (
          <Confirm
            items={picked}
            label={plainText(choices[index]?.label ?? "", 60)}
            confirm={() => setConfirmed(picked)}
            cancel={() => choose(null)}
          />
        )
        : <Undo count={confirmed.length} send={() => send(confirmed, index)} undo={undo} />}
    </div>
  );
}

function Confirm(
  { items, label, confirm, cancel }: {
    items: readonly WaitingItem[];
    label: string;
    confirm(): void;
    cancel(): void;
  },
) {
  const button = useFocusInto<HTMLButtonElement>();
  return (
    <div onKeyDown={onEscape(cancel)}>
      <ol class="together-list" tabIndex={0} aria-label="All that is answered">
        {items.map((item) => (
          <li key={item.id}>
            <Asked of={item} />
          </li>
        ))}
      </ol>
      <button ref={button} type="button" class="primary" onClick={confirm}>
        {label}: all {items.length}
      </button>{" "}
      <button type="button" class="plain" onClick={cancel}>Back</button>
    </div>
  );
}

/** All that one request asks for: its command, else its words with the tool's input. */
function Asked({ of: item }: { of: WaitingItem }) {
  const command = commandOf(item);
  if (command !== null) {
    return (
      <code>
        <Text of={command} />
      </code>
    );
  }
  return (
    <>
      <Text of={item.text || item.title} />
      {item.input !== null && item.input !== undefined && <Input of={item.input} />}
    </>
  );
}

function Undo({ count, send, undo }: { count: number; send(): void; undo(): void }) {
  const { button, left, drop } = useTakeBack(send);
  return (
    <>
      <b role="status">{count} answers are sent in {left} s</b>
      <button ref={button} type="button" onClick={() => (drop(), undo())}>Undo</button>
    </>
  );
}
