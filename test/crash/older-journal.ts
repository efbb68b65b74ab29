import { rename, rm, stat } from "node:fs/promises";
import { rowOf } from "../../core/records/journal/journal-row.ts";
import { migrate } from "../../core/records/journal/journal-schema.ts";
import { openSqlite, type SqliteFile } from "../../core/ground/platform/state/sqlite.ts";
import type { Envelope } from "../../plugin-sdk/envelope.ts";

/** Batches that there are at least, so that a migration takes long enough to be killed in the middle. */
const leastBatches = 2500;

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
  `);
  await fill(database);
  database.exec("PRAGMA journal_mode = DELETE");
  database.close();
  for (const suffix of ["-wal", "-shm"]) await rm(`${file}${suffix}`, { force: true });
  await rename(older, file);
  return true;
}

/** Adds one session more, of as many batches as are missing; the kills of other lanes do not wait for it. */
async function fill(database: SqliteFile): Promise<void> {
  const found = database.prepare("SELECT count(*) AS batches, (SELECT last_gseq FROM state) AS gseq FROM batch").get();
  const { batches, gseq } = found as { batches: number; gseq: number };
  const insert = database.prepare("INSERT INTO batch VALUES (?, ?, ?, ?, ?, ?, ?)");
  const session_id = `filler${gseq}`;
  let last = gseq;
  database.exec("BEGIN");
  for (let at = batches; at < leastBatches; at++) {
    if (at % 50 === 0) await new Promise<void>((resolve) => setImmediate(resolve));
    const envelopes = Array.from({ length: 4 }, (_, index): Envelope => ({
      v: 1,
      seq: last - gseq + index + 1,
      gseq: last + index + 1,
      ts: "2026-01-01T00:00:00.000Z",
      session_id,
      attempt: 1,
      adapter: { id: "filler", version: "1.0.0" },
      source: "agent",
      event: { type: "output", stream: "stdout", data: `line ${index} ${" ".repeat(100)}` },
    }));
    if (at === leastBatches - 1) {
      const result = { outcome: "completed", stop_reason: "end_turn" };
      envelopes[3]!.event = { type: "session_ended", result } as Envelope["event"];
    }
    const row = rowOf({ session_id, envelopes }, last)!;
    insert.run(row.last_gseq, row.first_gseq, session_id, row.first_seq, row.last_seq, row.count, row.body);
    last = row.last_gseq;
  }
  database.exec(`UPDATE state SET last_gseq = ${last}; COMMIT`);
}
