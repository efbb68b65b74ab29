// In a compartment each use of a global name is a search through its scopes, and these are used for every message.
const { isArray } = Array;
const { parse } = JSON;

/** A JSON object whose fields are not checked yet. */
export type JsonFields = Readonly<Record<string, unknown>>;

/** Returns the object, or null for any other value. */
export function fieldsOf(value: unknown): JsonFields | null {
  return isFields(value) ? value : null;
}

/** Whether a value is a JSON object. */
export function isFields(value: unknown): value is JsonFields {
  return typeof value === "object" && value !== null && !isArray(value);
}

/** Returns the object, or one without fields for any other value. */
export function fieldsOrNone(value: unknown): JsonFields {
  return fieldsOf(value) ?? {};
}

/** Returns the list; an empty one for any other value. */
export function listOf(value: unknown): unknown[] {
  return isArray(value) ? value : [];
}

/** Returns the objects of a list; none for any other value. */
export function objectsOf(value: unknown): JsonFields[] {
  return listOf(value).map(fieldsOf).filter((item) => item !== null);
}

/** Returns the string, even an empty one, or null for any other value. */
export function stringOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** Returns the text, or undefined for any other value and for an empty one. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Returns the whole number from 0 up, such as a count of tokens, or null for any other value. */
export function countOf(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

/** Returns the number from 0 up, such as an amount, or null for any other value. */
export function numberOf(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : null;
}

/** Returns the texts in a value, those in its lists and objects included, down to 32 levels. */
export function textsIn(value: unknown, levels = 32): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null || levels === 0) return [];
  return Object.values(value).flatMap((inner) => textsIn(inner, levels - 1));
}

/** Parses a text as JSON; undefined for a text that is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

// Sequences that set a title or a colour; every repeat stops at the next one's beginning.
const sequence =
  "\\x1b\\[[0-?]{0,64}[ -/]{0,8}[@-~]|\\x1b\\][^\\x07\\x1b]{0,4096}(?:\\x07|\\x1b\\\\)|\\x1b[ -/]{0,4}[0-Zc-~]|[\\0\\x07\\x9b]";
const controlsBefore = new RegExp(`^(?:\\s|\\ufeff|${sequence})+`);
const controlsBehind = new RegExp(`(?:${sequence})(?:\\s|${sequence}){0,64}$`);
/** UTF-16 units at the end of a line that controls may take. */
const behindLength = 1024;
const messageBegins = /\{\s{0,8}"(?:jsonrpc|type)"/;

/** The line without blanks and control sequences of a terminal at its beginning. */
export function withoutControls(line: string): string {
  return line.replace(controlsBefore, "");
}

/**
 * Parses a line of a program that prints one JSON message a line; undefined for a line that is none. What a terminal or
 * another program put around the message is left out: control sequences, or words before its first `jsonrpc` or `type`.
 */
export function parseJsonLine(line: string): unknown {
  const data = parseJson(line);
  if (data !== undefined) return data;
  const text = withoutControlsBehind(withoutControls(line));
  if (text.startsWith("{")) return text === line ? undefined : parseJson(text);
  const at = text.search(messageBegins);
  return at < 0 ? undefined : parseJson(text.slice(at));
}

function withoutControlsBehind(line: string): string {
  const end = line.slice(-behindLength);
  const found = controlsBehind.exec(end);
  return found ? line.slice(0, line.length - end.length + found.index) : line;
}
