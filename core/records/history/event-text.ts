import type { Envelope } from "../../../plugin-sdk/envelope.ts";

/** Characters of one event that can be found. */
const mostCharacters = 16_384;

/** Fields of events that hold what people look for. */
const fields: ReadonlySet<string> = new Set([
  "command",
  "content",
  "data",
  "input",
  "message",
  "options",
  "output",
  "path",
  "prompt",
  "question",
  "reason",
  "requested",
  "summary",
  "target",
  "text",
  "title",
  "tool",
]);

/** The text of an event by which it is found; empty for one that has none. */
export function eventText(event: Envelope["event"]): string {
  const parts: string[] = [];
  collect(event, { parts, all: false, depth: 0, left: { characters: mostCharacters } });
  return parts.join(" ");
}

interface CollectOptions {
  parts: string[];
  /** Whether every text counts, as in the arguments of a tool. */
  all: boolean;
  depth: number;
  left: { characters: number };
}

function collect(value: unknown, { parts, all, depth, left }: CollectOptions): void {
  if (left.characters <= 0 || depth > 6) return;
  if (typeof value === "string") {
    if (!all) return;
    parts.push(value.slice(0, left.characters));
    left.characters -= value.length;
  } else if (Array.isArray(value)) {
    for (const one of value) collect(one, { parts, all, depth: depth + 1, left });
  } else if (typeof value === "object" && value !== null) {
    for (const [key, one] of Object.entries(value)) {
      collect(one, { parts, all: all || fields.has(key), depth: depth + 1, left });
    }
  }
}
