import type { AdapterEvent } from "../../../../plugin-sdk/events.ts";
import type { Rule } from "../rule.ts";
import { nameOf, ordinary } from "../seen.ts";

/** Shorter texts may come twice by chance. */
const telling = 6;

/** Deltas that repeat what they grew from must become increments. */
export const textOnceRule: Rule = {
  id: "text-once",
  title: "No text is given twice.",
  check(seen) {
    return ordinary(seen).flatMap((take) => {
      const repeated = repetition(take.events);
      return repeated === null ? [] : [{ message: repeated, session: nameOf(take) }];
    });
  },
};

function repetition(events: readonly AdapterEvent[]): string | null {
  const texts = events.flatMap((event) => (event.type === "output" && event.stream === "stdout" ? [event.data] : []));
  let whole = "";
  let pieces = 0;
  for (const [index, text] of texts.entries()) {
    const before = texts[index - 1] ?? "";
    if (before.trim().length >= telling && text.length > before.length && text.startsWith(before)) {
      return `An output repeats the one before it: "${text.slice(0, 80)}".`;
    }
    if (pieces > 1 && whole.trim().length >= telling && text.trim() === whole.trim()) {
      return `An output repeats all that was given: "${text.slice(0, 80)}".`;
    }
    whole += text;
    pieces++;
  }
  return null;
}
