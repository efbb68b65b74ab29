import { isSameText } from "../../ground/platform/files/hash.ts";
import { readFile, rm, stat } from "../../ground/platform/files/files.ts";
import type { SqliteFile } from "../../ground/platform/state/sqlite.ts";
import { chainKeyFile } from "./chain-key.ts";
import { chainOrigin, linkOfRow, nextPlace } from "./chain.ts";
import { prepareChainTable, readChained, rowColumns } from "./chain-table.ts";
import { DamageError, damageIn } from "./damage.ts";
import { replaceFile } from "../../ground/platform/files/replace-file.ts";

/** Newest batches that are checked at every start. */
const checkedRows = 8;

/** True when a journal was not closed and its last writes are still in the log, or a repair of it was begun. */
export async function mayBeDamaged(file: string): Promise<boolean> {
  const [log, draft] = await Promise.all([`${file}-wal`, repairDraft(file)].map(sizeOf));
  return (log ?? 0) > 0 || draft !== null;
}

/** Tells a journal that is gone: its key is there, and the file is not, or holds nothing. Null for any other. */
export async function goneProblem(file: string): Promise<string | null> {
  const [key, size] = await Promise.all([chainKeyFile(file), file].map(sizeOf));
  if (key === null) return null;
  return size === null ? "the file is gone" : size === 0 ? "the file is empty" : null;
}

function sizeOf(path: string): Promise<number | null> {
  return stat(path).then(({ size }) => size, () => null);
}

/** Path of the file that a repair fills, which is left there when the repair does not end. */
export function repairDraft(file: string): string {
  return `${file}.repairing`;
}

/**
 * Checks the structure of a database file, on another thread.
 * @throws {DamageError} for one that is damaged
 */
export async function checkStructure(database: SqliteFile): Promise<void> {
  // The other thread gives no rows, but fails: what is no JSON stands for what is not right.
  const check = "EXISTS (SELECT 1 FROM pragma_quick_check(1) WHERE quick_check <> 'ok')";
  try {
    await database.execAside(`SELECT json(CASE WHEN ${check} THEN '' ELSE '1' END)`);
  } catch (cause) {
    if (damageIn(cause) !== null) throw cause;
    if (cause instanceof Error && cause.message.includes("JSON")) throw new DamageError("its structure is damaged");
    throw cause;
  }
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
  if (!isHeadThere(database, head.number)) return "the newest events are missing";
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

/** Whether the chain's last link is there: a batch, a link without one, or the end of what was removed or is lost. */
function isHeadThere(database: SqliteFile, head: number): boolean {
  const places = ["SELECT max(number) AS number FROM (SELECT number FROM batch ORDER BY last_gseq DESC LIMIT 1)"];
  places.push("SELECT max(number) AS number FROM link", "SELECT number FROM base");
  places.push("SELECT max(last) AS number FROM lost_link");
  const found = places.map((sql) => database.prepare(sql).get() as { number: number | null } | undefined);
  return head === Math.max(0, ...found.map((row) => row?.number ?? 0));
}

/** Marks a journal as damaged for its host or the next one. Best effort: the folder may not be writable. */
export async function markSuspect(file: string, problem: string): Promise<void> {
  await replaceFile(markOf(file), problem).catch(() => {});
}

/** The problem of a marked journal; null where there is none. */
export async function suspectedProblem(file: string): Promise<string | null> {
  return await readFile(markOf(file), "utf8").catch(() => null);
}

/** Takes the mark away. */
export async function clearSuspect(file: string): Promise<void> {
  await rm(markOf(file), { force: true });
}

function markOf(file: string): string {
  return `${file}.suspect`;
}
