/** Options of {@link splitLines}. */
export interface SplitLinesOptions {
  /** UTF-16 units after which a line without an end is cut; default 8 Mi. */
  limit?: number;
}

/**
 * Cuts pieces of text into lines without their ends (`\n` or `\r\n`); each piece yields at most one list. Leaving the
 * loop closes the source.
 */
export async function* splitLines(
  pieces: AsyncIterable<string>,
  options: SplitLinesOptions = {},
): AsyncGenerator<string[], void, void> {
  const { limit: maxLength = 8 * 1024 * 1024 } = options;
  // An unfinished line stays in pieces until its end arrives, so that a long one is joined only once.
  let begun: string[] = [];
  let length = 0;
  for await (const piece of pieces) {
    const parts = piece.split("\n");
    const rest = parts.pop() ?? "";
    let lines: string[] = [];
    if (parts.length > 0) {
      parts[0] = begun.join("") + parts[0];
      lines = wholeLines(parts, maxLength);
      begun = [];
      length = 0;
    }
    begun.push(rest);
    length += rest.length;
    if (length > maxLength) {
      const whole = cut(begun.join(""), maxLength);
      begun = [whole.pop() ?? ""];
      length = begun[0]!.length;
      lines.push(...whole);
    }
    if (lines.length > 0) yield lines;
  }
  const last = begun.join("");
  if (last !== "") yield cut(last, maxLength);
}

/** Lines that have ended, without their ends. */
function wholeLines(lines: string[], maxLength: number): string[] {
  const isPlain = (line: string) => line.length <= maxLength && !line.endsWith("\r");
  return lines.every(isPlain) ? lines : lines.flatMap((line) => isPlain(line) ? line : cut(line, maxLength));
}

function cut(line: string, maxLength: number): string[] {
  const text = line.endsWith("\r") ? line.slice(0, -1) : line;
  if (text.length <= maxLength) return [text];
  return splitText(text, maxLength);
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
