import type { WaitingItem } from "../../../http/waiting-item.ts";
import { plainText } from "../shown-text.ts";

const longestAsked = 300;

/** The command that a request is about; null for any other. */
export function commandOf({ input }: Pick<WaitingItem, "input">): string | null {
  if (typeof input !== "object" || input === null || !("command" in input)) return null;
  const { command } = input;
  return typeof command === "string" && command.trim() !== "" ? command : null;
}

/**
 * One line that says what is wanted: the command itself, else the words about it, since the title of what a session waits for is
 * the session's.
 */
export function askedText({ request_id, kind, title, text, input }: Asked): string {
  const command = request_id === null ? null : commandOf({ input });
  const isOfSession = request_id !== null || kind === "conflict" || kind === "held";
  return plainText(command ?? (isOfSession && text !== "" ? text : title), longestAsked);
}

type Asked = Pick<WaitingItem, "request_id" | "kind" | "title" | "text" | "input">;

/** Whether a line says all of a text: texts that differ by their line breaks alone say the same. */
export function saysAll(line: string, text: string): boolean {
  return line === text.replace(/\s+/g, " ").trim();
}

/** The last part of a folder's path: the name by which people know a repository. */
export function folderName(path: string): string {
  return path.split(/[/\\]/).findLast((part) => part !== "") ?? path;
}
