/** An object of parsed JSON. */
export type Fields = Readonly<Record<string, unknown>>;

/** A value's fields, if it is an object and no list. */
export function fieldsOf(value: unknown): Fields | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value as Fields : null;
}

/** A field's text, or null. */
export function textOf(fields: Fields, name: string): string | null {
  const value = fields[name];
  return typeof value === "string" ? value : null;
}

/** A field's count, or null. */
export function countOf(fields: Fields, name: string): number | null {
  const value = fields[name];
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

/** A field's list; empty where there is none. */
export function listOf(fields: Fields, name: string): unknown[] {
  const value = fields[name];
  return Array.isArray(value) ? value : [];
}
