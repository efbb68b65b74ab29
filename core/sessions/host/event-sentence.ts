import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { type EventFigures, eventWords, type Weight } from "../../ground/checks/event-words.ts";
import { cleanText } from "../../ground/log/terminal-text.ts";

export { titleOf } from "../../records/journal/session-record.ts";

interface EventSentence {
  weight: Weight;
  /** One short line, without characters that a terminal acts on. */
  text: string;
}

/** Longest text inside a sentence, in UTF-16 units. */
const textLength = 200;

const figures: EventFigures = {
  duration: (ms) => `${Math.ceil(ms / 1000)} s`,
  count: (count) => count.toLocaleString("en-US"),
};

/** Events whose text begins as the agent wrote it. */
const agentTexts: ReadonlySet<string> = new Set(["output", "thinking", "progress", "error"]);

/** Summarises an event for a person who does not read all of it. */
export function eventSentence(event: Envelope["event"]): EventSentence {
  const { weight, tag, text } = eventWords(event, figures);
  // The rest is cut anyway, so do not clean it.
  const begun = oneLine(`${tag === undefined ? "" : `${tag}: `}${text.slice(0, 10 * textLength)}`);
  const line = agentTexts.has(event.type) ? begun : begun.charAt(0).toUpperCase() + begun.slice(1);
  // Do not cut a surrogate pair in half.
  const cut = line.slice(0, textLength - 1).replace(/[\ud800-\udbff]$/, "");
  return { weight, text: line.length <= textLength ? line : `${cut}…` };
}

/** Returns an agent's text on one line that can neither move a terminal's cursor nor pass for another text. */
export function oneLine(text: string): string {
  return cleanText(text.replace(/\s+/g, " ").trim());
}

/** Does the same and keeps the lines. */
export function cleanLines(text: string): string {
  return cleanText(text, { keepLines: true });
}
