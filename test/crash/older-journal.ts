import { rename, rm, stat } from "node:fs/promises";
import { migrate } from "../../core/journal/journal-schema.ts";
import { openSqlite } from "../../core/runtime/sqlite.ts";

/**
 * Puts a journal that holds the same events in the schema's first version in place of a journal, so that the next host
 * has them all to migrate. False where there is no journal yet.
 */
export async function makeOlder(file: string): Promise<boolean> {
  if (!(await stat(file).then(() => true, () => false))) return false;
  const older = `${file}.older`;
  await rm(older, { force: true });
  const database = await openSqlite(older, { busyTimeoutMs: 10_000 });
  migrate(database, { file: older, key: new Uint8Array(32), to: 1 });
  const columns = "last_gseq, first_gseq, session_id, first_seq, last_seq, count, body";
  database.exec(`ATTACH DATABASE '${file.replaceAll("'", "''")}' AS newer`);
  // The first version knows of no deletion, which may be half done.
  const knows = database.prepare("SELECT 1 FROM newer.sqlite_schema WHERE type = 'table' AND name = 'session'").get();
  const kept = knows === undefined
    ? ""
    : "WHERE session_id NOT IN (SELECT session_id FROM newer.session WHERE deleted_at IS NOT NULL)";
  database.exec(`
    INSERT INTO batch (${columns}) SELECT ${columns} FROM newer.batch ${kept};
    UPDATE state SET last_gseq = (SELECT last_gseq FROM newer.state);
    DETACH DATABASE newer;
    PRAGMA journal_mode = DELETE;
  `);
  database.close();
  for (const suffix of ["-wal", "-shm"]) await rm(`${file}${suffix}`, { force: true });
  await rename(older, file);
  return true;
}
