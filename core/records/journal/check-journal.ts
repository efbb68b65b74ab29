import { isSameText } from "../../ground/runtime/hash.ts";
import { stat } from "../../ground/runtime/files.ts";
import type { SqliteFile } from "../../ground/runtime/sqlite.ts";
import { chainOrigin, linkOfRow, nextPlace } from "./chain.ts";
import { prepareChainTable, readChained, rowColumns } from "./chain-table.ts";

/** Newest batches that are checked at every start. */
const checkedRows = 8;

/**
 * True when a journal's host did not close it, and its last writes are still in the log beside the file, or when a
 * repair of it was begun: a repair closes the damaged file, which takes that log away.
 */
export async function mayBeDamaged(file: string): Promise<boolean> {
  const sizes = [`${file}-wal`, repairDraft(file)].map((path) => stat(path).then(({ size }) => size, () => null));
  const [log, draft] = await Promise.all(sizes);
  return (log ?? 0) > 0 || draft !== null;
}

/** Path of the file that a repair fills, which is left there when the repair does not end. */
export function repairDraft(file: string): string {
  return `${file}.repairing`;
}

/** Signals a database file with a damaged structure. */
class DamageError extends Error {
  override readonly name: string = "DamageError";
}

/**
 * Checks the structure of a database file.
 * @throws {Error} for one that is damaged, see {@link damageIn}
 */
export function checkStructure(database: SqliteFile): void {
  const rows = database.prepare("PRAGMA quick_check(3)").all() as { quick_check: string }[];
  const problems = rows.map(({ quick_check }) => quick_check).filter((text) => text !== "ok");
  if (problems.length > 0) throw new DamageError(problems.join("; "));
}

/** Describes the damage of a file that could not be opened; null for other failures. */
export function damageIn(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  if (error instanceof DamageError) return error.message;
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  return /^SQLITE_(?:CORRUPT|NOTADB|IOERR_SHORT_READ)/.test(code) ? error.message : null;
}

/**
 * Checks the newest batches of a journal against the chain.
 * @returns the mismatch, as a sentence; null when there is none
 */
export function newestProblem(database: SqliteFile, key: Uint8Array): string | null {
  const newest = database.prepare(`SELECT ${rowColumns} FROM batch ORDER BY last_gseq DESC LIMIT ?`);
  const rows = newest.all(checkedRows).map(readChained);
  const head = prepareChainTable(database).head();
  const [last] = rows;
  if (last !== undefined && last.last_gseq > head.last_gseq) {
    return `batch ${last.last_gseq} comes after the last number`;
  }
  for (const [at, row] of rows.entries()) {
    const before = rows[at + 1];
    // Between two batches there may be links without batches; only the full check tells them from missing ones.
    const isNext = row.number === 1 ? undefined : before?.number === (row.number ?? 0) - 1;
    if (isNext === false || (isNext !== undefined && before?.mac == null)) continue;
    const place = isNext === undefined ? chainOrigin : { number: before!.number!, mac: before!.mac! };
    if (row.mac === null || !isSameText(nextPlace(key, place, linkOfRow(row)).mac, row.mac)) {
      return `events ${row.first_gseq} to ${row.last_gseq} of session "${row.session_id}" do not fit their link`;
    }
  }
  return null;
}
