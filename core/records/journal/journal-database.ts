import type { JournalSync } from "../../ground/config/journal-sync.ts";
import { stat } from "../../ground/platform/files/files.ts";
import { syncFolder } from "../../ground/platform/files/synced-file.ts";
import { dirname } from "../../ground/platform/files/paths.ts";
import { openSqlite, type SqliteFile } from "../../ground/platform/state/sqlite.ts";
import { checkStructure, mayBeDamaged } from "./check-journal.ts";
import { DamageError } from "./damage.ts";
import type { JournalLimits } from "./journal-limits.ts";
import { migrate, readNumber } from "./journal-schema.ts";
import { keepBeforeUpgrade } from "./upgrade-copy.ts";

/** Options of {@link openJournalDatabase}. */
export interface JournalDatabaseOptions {
  file: string;
  limits: JournalLimits;
  key: Uint8Array;
  sync: JournalSync;
}

/** Opens the SQLite file of a journal, and brings it to the current schema. */
export async function openJournalDatabase({ file, limits, key, sync }: JournalDatabaseOptions): Promise<SqliteFile> {
  const isLeft = await mayBeDamaged(file);
  const database = await openSqlite(file, { busyTimeoutMs: limits.busy_timeout_ms });
  try {
    database.prepare("PRAGMA journal_mode = WAL").get();
    // A commit never waits for the disk on this thread: checkpoints do, on another one, and DiskSync with sync: full.
    database.exec("PRAGMA synchronous = NORMAL");
    database.prepare("PRAGMA wal_autocheckpoint = 0").get();
    await keepBeforeUpgrade(database, file);
    migrate(database, { file, key });
    if (!isLeft) await demandWhole(database, file);
    if (isLeft && usedBytes(database) <= limits.check_bytes) await checkStructure(database);
    // The names of a new state folder, and of the files in it, are as lasting as what stands in them.
    if (sync === "full") { for (const folder of [dirname(file), dirname(dirname(file))]) await syncFolder(folder); }
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** @throws {DamageError} for a file that ends before its last page; with a log beside it, the pages may be there */
async function demandWhole(database: SqliteFile, file: string): Promise<void> {
  const pages = readNumber(database, "PRAGMA page_count", "page_count");
  const bytes = pages * readNumber(database, "PRAGMA page_size", "page_size");
  const isNew = await stat(`${file}-wal`).then(({ size }) => size > 0, () => false);
  if (!isNew && (await stat(file)).size < bytes) throw new DamageError("the file is cut short");
}

/** Bytes of a database's pages, without free pages. */
export function usedBytes(database: SqliteFile): number {
  const pages = readNumber(database, "PRAGMA page_count", "page_count");
  const free = readNumber(database, "PRAGMA freelist_count", "freelist_count");
  return (pages - free) * readNumber(database, "PRAGMA page_size", "page_size");
}
