interface CleanTextOptions {
  /** Leaves line feeds and tabs as they are; without it they are escaped too, so that the text stays one line. */
  keepLines?: boolean;
}

/**
 * Makes text from a stranger safe to show: control characters (C0, DEL, C1), characters that change the direction of
 * writing, invisible and zero-width ones, line and paragraph separators and lone surrogates become `\u{..}`.
 *
 * A terminal acts on the first group (colours, titles, the clipboard); a reader is deceived by the others.
 */
export function cleanText(text: string, options: CleanTextOptions = {}): string {
  return text.replace(unsafe, (found) => {
    if (options.keepLines === true && (found === "\n" || found === "\t")) return found;
    return `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

/** {@link cleanText}, cut to a number of characters; what is left out is counted at the end. */
export function cleanLine(text: string, maxLength: number): string {
  if (text.length <= maxLength) return cleanText(text);
  return `${cleanText(text.slice(0, maxLength))}… (${text.length - maxLength} more)`;
}

/**
 * Makes JSON text safe to show without changing what it says: what {@link cleanText} takes out of a text is written as
 * JSON escapes. Control characters below U+0020 stand in JSON text only between values, and stay.
 */
export function cleanJson(text: string): string {
  return text.replace(unsafeInJson, (found) =>
    Array.from({ length: found.length }, (_, index) => {
      return `\\u${found.charCodeAt(index).toString(16).padStart(4, "0")}`;
    }).join(""));
}

/** With the `u` flag `\p{Cs}` finds only surrogates that stand alone. */
const unsafeBeyondAscii = [
  "[\\u{7f}-\\u{9f}\\u{ad}\\u{34f}\\u{61c}\\u{115f}\\u{1160}\\u{17b4}\\u{17b5}\\u{180b}-\\u{180f}]",
  "[\\u{200b}-\\u{200f}\\u{2028}-\\u{202e}\\u{2060}-\\u{206f}\\u{3164}\\u{feff}\\u{ffa0}\\u{fff9}-\\u{fffb}]",
  "[\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e007f}]",
  "\\p{Cs}",
].join("|");
const unsafe = new RegExp(`[\\u{0}-\\u{1f}]|${unsafeBeyondAscii}`, "gu");
const unsafeInJson = new RegExp(unsafeBeyondAscii, "gu");
