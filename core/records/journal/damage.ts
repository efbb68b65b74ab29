/** Signals content that its host cannot have written. */
export class DamageError extends Error {
  override readonly name: string = "DamageError";
}

/** Describes the damage of a file that an error reports, itself or by its cause; null for other failures. */
export function damageIn(error: unknown): string | null {
  for (let each = error; each instanceof Error; each = each.cause) {
    if (each instanceof DamageError) return each.message;
    const code = "code" in each && typeof each.code === "string" ? each.code : "";
    if (/^SQLITE_(?:CORRUPT|NOTADB|IOERR_SHORT_READ)/.test(code)) return each.message;
  }
  return null;
}

/**
 * Reads content that its host wrote.
 * @throws {DamageError} where that fails
 */
export function undamaged<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (damageIn(cause) !== null) throw cause;
    throw new DamageError(`${what} cannot be read`, { cause });
  }
}

/**
 * The database library ends the whole process over a text that is not UTF-8, as a damaged disk makes it; so what may be
 * damaged is read as bytes.
 */

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const lenient = new TextDecoder("utf-8", { ignoreBOM: true });

/** Columns of text as SQL that reads them as bytes, under their own names. */
export function asBytes(...columns: readonly string[]): string {
  return columns.map((column) => `CAST(${column} AS BLOB) AS ${column}`).join(", ");
}

/**
 * The text of a column that was read as bytes.
 * @throws {TypeError} for what is not UTF-8
 */
export function strictText(bytes: unknown): string {
  return strict.decode(bytes as Uint8Array);
}

/** The same, with U+FFFD where it is not UTF-8; null for null. */
export function lenientText(bytes: unknown): string | null {
  return bytes === null ? null : lenient.decode(bytes as Uint8Array);
}
