/** One spelling of a text: for each UTF-16 unit the units that match it. */
export type Spelling = readonly string[];

/** One encoding of a whole value: pieces with their spellings, with line breaks where an encoder wraps. */
export interface SecretForm {
  pieces: readonly (readonly Spelling[])[];
  breaks: readonly Spelling[];
}

/**
 * The forms in which programs echo a value: as it is, percent-encoded, escaped as in JSON (also twice) and in C, in
 * hexadecimal, and in base64 or base64url, also with other bytes before and after it. One form may mix these, because
 * encoders differ in what they escape.
 */
export function secretForms(value: string): SecretForm[] {
  const bytes = new TextEncoder().encode(value);
  return [
    { pieces: [...value].map(waysOf), breaks: [] },
    { pieces: [...hexOf(bytes)].map((digit) => [[eitherCase(digit)]]), breaks: wraps },
    ...[0, 1, 2].map((before): SecretForm => ({ pieces: base64Pieces(bytes, before), breaks: wraps })),
    ...wholeBase64(bytes).map((pieces): SecretForm => ({ pieces, breaks: wraps })),
  ];
}

const wraps: readonly Spelling[] = [["\n"], ["\r", "\n"], ["\\", "n"], ["\\", "r", "\\", "n"]];

const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Letters of the short escapes of JSON (RFC 8259, section 7). */
const shortEscapes: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  "\b": "b",
  "\f": "f",
  "\n": "n",
  "\r": "r",
  "\t": "t",
};

/** All spellings of one code point; the literal one comes first. */
function waysOf(character: string): Spelling[] {
  const bytes = [...new TextEncoder().encode(character)];
  const units = character.split("").map((unit) => [..."u", ...hexDigits(unit.charCodeAt(0), 4)]);
  const short = shortEscapes[character];
  const point = (character.codePointAt(0) ?? 0).toString(16);
  return [
    character.split(""),
    bytes.flatMap((byte) => ["%", ...hexDigits(byte, 2)]),
    bytes.flatMap((byte) => ["\\", "x", ...hexDigits(byte, 2)]),
    units.flatMap((unit) => ["\\", ...unit]),
    units.flatMap((unit) => ["\\", "\\", ...unit]),
    // The form in which text is made safe for a terminal.
    ["\\", "u", "{", ...[...point].map(eitherCase), "}"],
    ...(character === " " ? [["+"]] : []),
    ...(character === "\n" ? [["\r", "\n"]] : []),
    ...(short === undefined ? [] : [["\\", short], twiceEscaped(short)]),
  ];
}

function twiceEscaped(short: string): Spelling {
  return short === '"' || short === "\\" ? ["\\", "\\", "\\", short] : ["\\", "\\", short];
}

/** The base64 digits that depend on the value alone when `before` other bytes precede it. */
function base64Pieces(bytes: Uint8Array, before: number): Spelling[][] {
  const first = Math.ceil((8 * before) / 6);
  const end = Math.floor((8 * (before + bytes.length)) / 6);
  return Array.from(
    { length: end - first },
    (_, index) => base64Ways(sixBits(bytes, 6 * (first + index) - 8 * before)),
  );
}

/** The value encoded by itself: its last digit depends on nothing else, and padding may follow. */
function wholeBase64(bytes: Uint8Array): Spelling[][][] {
  const rest = bytes.length % 3;
  if (rest === 0) return [];
  const core = base64Pieces(bytes, 0);
  const open = [...core, base64Ways(sixBits(bytes, 6 * core.length))];
  const padding: Spelling[][] = Array.from({ length: 3 - rest }, () => [["="], ["%", "3", "dD"]]);
  return [open, [...open, ...padding]];
}

/** Six bits from a position on; zero past the end. */
function sixBits(bytes: Uint8Array, at: number): number {
  const index = Math.floor(at / 8);
  const pair = ((bytes[index] ?? 0) << 8) | (bytes[index + 1] ?? 0);
  return (pair >> (10 - (at % 8))) & 63;
}

function base64Ways(bits: number): Spelling[] {
  if (bits === 62) return [["+-"], ["%", "2", "bB"]];
  if (bits === 63) return [["/_"], ["%", "2", "fF"], ["\\", "/"]];
  return [[base64Digits.charAt(bits)]];
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function hexDigits(number: number, length: number): string[] {
  return [...number.toString(16).padStart(length, "0")].map(eitherCase);
}

function eitherCase(digit: string): string {
  const upper = digit.toUpperCase();
  return upper === digit ? digit : digit + upper;
}
