import { WholeMessages } from "./whole-messages.ts";

/** Options of {@link splitLines}. */
export interface SplitLinesOptions {
  /** UTF-16 units after which a line is too long; default 8 Mi. */
  limit?: number;
  /**
   * Treatment of a line that is too long: `drop` (default) gives its beginning and an ellipsis as one line, which is
   * never JSON; `cut` gives all of it in several lines, for text that no one parses.
   */
  overlong?: "drop" | "cut";
  /** Whether lines are messages in JSON: one that is spread over several is given as one, and two in one as two. */
  messages?: boolean;
  /** Takes the beginning of each line that is dropped, in its place. An empty list follows. */
  onTooLong?: (beginning: string) => void;
  /**
   * Called with an unfinished line, such as a question to a person, after a second in which nothing came. Return true
   * if you have shown it: then only the rest of it comes as a line. An empty list follows.
   */
  onUnfinished?: (text: string) => boolean;
}

/** UTF-16 units of a dropped line that are kept. */
const beginningLength = 1024;
/** Silence in milliseconds after which an unfinished line is told. */
const silenceMs = 1000;

/**
 * Cuts pieces of text into lines without their ends (`\n` or `\r\n`); each piece yields at most one list. Leaving the
 * loop closes the source.
 */
export async function* splitLines(
  pieces: AsyncIterable<string>,
  options: SplitLinesOptions = {},
): AsyncGenerator<string[], void, void> {
  const { limit: maxLength = 8 * 1024 * 1024, overlong = "drop", onTooLong, onUnfinished, messages } = options;
  const whole = messages === true ? new WholeMessages() : null;
  let isTold = false;
  const tell = onTooLong && ((beginning: string): void => {
    isTold = true;
    onTooLong(beginning);
  });
  const shorten = overlong === "cut" ? cut : tell ? dropInto(tell) : drop;
  // An unfinished line stays in pieces until its end arrives, so that a long one is joined only once.
  let begun: string[] = [];
  let length = 0;
  // The rest of a line whose beginning was given out, up to its end.
  let isDropping = false;
  // A compartment may have no clock.
  const source = onUnfinished && "setTimeout" in globalThis ? withSilences(pieces, () => length > 0) : pieces;
  for await (const piece of source) {
    if (piece === null) {
      const held = begun.join("");
      // The first half of a line's end waits for the other.
      const half = held.endsWith("\r") ? "\r" : "";
      const text = held.slice(0, held.length - half.length);
      if (text !== "" && onUnfinished!(text)) {
        begun = [half];
        length = half.length;
        yield [];
      }
      continue;
    }
    const parts = piece.split("\n");
    const rest = parts.pop() ?? "";
    let lines: string[] = [];
    if (parts.length > 0) {
      if (isDropping) parts.shift();
      else parts[0] = begun.join("") + parts[0];
      lines = wholeLines(parts, maxLength, shorten);
      isDropping = false;
      begun = [];
      length = 0;
    }
    if (!isDropping) {
      begun.push(rest);
      length += rest.length;
    }
    // One more may be the first half of the line's end.
    if (length > maxLength + 1) {
      const short = shorten(begun.join(""), maxLength);
      isDropping = overlong === "drop";
      begun = isDropping ? [] : [short.pop() ?? ""];
      length = begun[0]?.length ?? 0;
      lines.push(...short);
    }
    if (whole) lines = whole.take(lines);
    if (lines.length > 0 || isTold) yield lines;
    isTold = false;
  }
  const text = begun.join("");
  const last = text === "" ? [] : shorten(text, maxLength);
  const left = whole ? [...whole.take(last), ...whole.end()] : last;
  if (left.length > 0 || text !== "") yield left;
}

/** Gives null in between, once for each silence in which something is held. */
async function* withSilences(
  pieces: AsyncIterable<string>,
  isHeld: () => boolean,
): AsyncGenerator<string | null, void, void> {
  const iterator = pieces[Symbol.asyncIterator]();
  let isWaiting = false;
  try {
    for (;;) {
      isWaiting = true;
      const next = iterator.next();
      if (isHeld() && await isLate(next)) yield null;
      const { done, value } = await next;
      isWaiting = false;
      if (done) return;
      yield value;
    }
  } finally {
    const left = iterator.return?.().catch(() => {});
    // A source that waits for more leaves when that has come.
    if (!isWaiting) await left;
  }
}

async function isLate(next: Promise<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => timer = setTimeout(() => resolve(true), silenceMs));
  try {
    return await Promise.race([next.then(() => false, () => false), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Lines that have ended, without their ends. */
function wholeLines(lines: string[], maxLength: number, shorten: typeof cut): string[] {
  const isPlain = (line: string) => line.length <= maxLength && !line.endsWith("\r");
  return lines.every(isPlain) ? lines : lines.flatMap((line) => isPlain(line) ? line : shorten(line, maxLength));
}

function cut(line: string, maxLength: number): string[] {
  const text = line.endsWith("\r") ? line.slice(0, -1) : line;
  if (text.length <= maxLength) return [text];
  return splitText(text, maxLength);
}

/** The same as {@link drop}, for a reader that takes the beginning elsewhere. */
function dropInto(onTooLong: (beginning: string) => void): typeof cut {
  return (line, maxLength) => {
    const [text = "", ...rest] = cut(line, maxLength);
    if (rest.length === 0) return [text];
    onTooLong(splitText(text, beginningLength)[0] ?? "");
    return [];
  };
}

function drop(line: string, maxLength: number): string[] {
  const [text = "", ...rest] = cut(line, maxLength);
  return [rest.length === 0 ? text : `${splitText(text, beginningLength)[0] ?? ""}…`];
}

/** Cuts a text into parts of at most that many UTF-16 units, never inside a character. */
export function splitText(text: string, maxLength: number): string[] {
  const parts: string[] = [];
  for (let at = 0; at < text.length;) {
    let end = Math.min(at + maxLength, text.length);
    const code = text.charCodeAt(end - 1);
    if (end < text.length && end - at > 1 && code >= 0xd800 && code <= 0xdbff) end--;
    parts.push(text.slice(at, end));
    at = end;
  }
  return parts;
}
