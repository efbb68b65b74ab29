import type { AdapterEvent } from "./events.ts";
import { isWords, tooLargeLine } from "./json-line-events.ts";
import { splitLines } from "./lines.ts";

/** A line of a program, or a part of one that was shown before its end came. */
export interface ShownLine {
  /** Text that was not shown before. */
  text: string;
  /** Line feed, or nothing after an unfinished line. */
  end: "\n" | "";
  /** All of the line so far. */
  line: string;
}

/** Options of {@link readLines}. */
export interface ReadLinesOptions {
  /** True for a stream of text. Else each line is a message in JSON, and an unfinished one is shown only if it cannot be. */
  isText: boolean;
  /** Turns a line into events. */
  read(line: ShownLine): AdapterEvent[];
}

/**
 * Turns a program's output into events, line by line. A line that is too long is shown in several if it is text, and
 * reported as `too_large` if it is a message; an unfinished one is shown after a second of silence.
 */
export async function* readLines(
  pieces: AsyncIterable<string>,
  { isText, read }: ReadLinesOptions,
): AsyncGenerator<AdapterEvent[], void, void> {
  let shown = "";
  let early: AdapterEvent[] = [];
  const lists = splitLines(pieces, {
    overlong: isText ? "cut" : "drop",
    messages: !isText,
    onTooLong: (beginning) => void early.push(tooLargeLine(beginning)),
    onUnfinished: (text) => {
      if (!isText && !isWords(text)) return false;
      shown += text;
      early.push(...read({ text, end: "", line: shown }));
      return true;
    },
  });
  const whole = (text: string): AdapterEvent[] => {
    const line = shown + text;
    shown = "";
    return read({ text, end: "\n", line });
  };
  for await (const lines of lists) {
    const events = [...early, ...lines.flatMap(whole)];
    early = [];
    if (events.length > 0) yield events;
  }
  if (early.length > 0) yield early;
}
