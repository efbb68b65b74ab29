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
