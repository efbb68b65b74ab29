/** A JSON object whose fields are not known to fit anything yet. */
export type Fields = { readonly [key: string]: unknown };

/** The object, or null for any other value. */
export function fieldsOf(value: unknown): Fields | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value))
    : null;
}

/** The objects of a list; none for any other value. */
export function listOf(value: unknown): Fields[] {
  const items: unknown[] = Array.isArray(value) ? value : [];
  return items.map(fieldsOf).filter((item) => item !== null);
}

/** The text, or undefined for any other value and for an empty one. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The count or amount, or null for any other value. */
export function numberOf(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : null;
}
