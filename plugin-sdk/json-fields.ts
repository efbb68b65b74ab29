/** A JSON object whose fields are not known to fit anything yet. */
export type JsonFields = Readonly<Record<string, unknown>>;

/** The object, or null for any other value. */
export function fieldsOf(value: unknown): JsonFields | null {
  return isFields(value) ? value : null;
}

function isFields(value: unknown): value is JsonFields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object, or one without fields for any other value. */
export function fieldsOrNone(value: unknown): JsonFields {
  return fieldsOf(value) ?? {};
}

/** The list; an empty one for any other value. */
export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The objects of a list; none for any other value. */
export function objectsOf(value: unknown): JsonFields[] {
  return listOf(value).map(fieldsOf).filter((item) => item !== null);
}

/** The string, an empty one as well, or null for any other value. */
export function stringOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** The text, or undefined for any other value and for an empty one. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The whole number from 0 up, such as a count of tokens, or null for any other value. */
export function countOf(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

/** The number from 0 up, such as an amount, or null for any other value. */
export function numberOf(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : null;
}

/** The JSON value of a text, or undefined for what is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
