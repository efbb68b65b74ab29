/** Characters that act instead of being shown, with which a text could look like another one. */
const acting =
  // deno-lint-ignore no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|[\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/gu;

/** Characters of a text that are shown before "Show all" is asked for. */
export const mostShown = 8192;

/** A piece of a text: plain, or one acting character by its name. */
type TextPiece = string | { name: string };

/** Splits a text so that characters that act can be shown by name. */
export function textPieces(text: string): TextPiece[] {
  const pieces: TextPiece[] = [];
  let at = 0;
  for (const match of text.matchAll(acting)) {
    if (match[0] === "\r" && text[match.index + 1] === "\n") continue;
    // An emoji's own selector and joiner stay: alone they change nothing.
    if (match[0] === "\ufe0f") continue;
    if (match.index > at) pieces.push(text.slice(at, match.index));
    pieces.push({ name: nameOf(match[0]) });
    at = match.index + match[0].length;
  }
  if (at < text.length) pieces.push(text.slice(at));
  return pieces;
}

/** A text on one line with acting characters by name, for titles and attributes. */
export function plainText(text: string, most = 300): string {
  const short = text.length > most ? `${text.slice(0, most)}…` : text;
  return textPieces(short).map((piece) => typeof piece === "string" ? piece : piece.name).join("").replace(/\s+/g, " ");
}

function nameOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x20 ? String.fromCodePoint(0x2400 + code) : `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}
