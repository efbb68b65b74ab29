import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rowOf } from "../../../core/records/journal/journal-row.ts";
import { migrate, schemaVersion } from "../../../core/records/journal/journal-schema.ts";
import { openJournal } from "../../../core/records/journal/open-journal.ts";
import { openSqlite } from "../../../core/ground/platform/state/sqlite.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { verifyJournal } from "../../../core/records/journal/verify-journal.ts";
import { ended, EnvelopeSource, readAll } from "./journal-fixture.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "bulkhead-migrations-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const started = {
  type: "session_started",
  adapter_id: "echo",
  workdir: "/w",
  task_id: "t",
  labels: { team: "a" },
  requested: { workdir: "/w", prompt: "Say\n it" },
  effective: { permissions: { kv: true } },
} as unknown as Envelope["event"];

/** Two sessions whose envelopes lie between one another, of which one has ended. */
function someEnvelopes(): Envelope[][] {
  const source = new EnvelopeSource();
  const [one, other, more, last] = [source, source, source, source].map((from, at) =>
    from.batch(at % 2 === 0 ? "ended" : "open", 3)
  ) as [Envelope[], Envelope[], Envelope[], Envelope[]];
  one[0]!.event = started;
  one[1]!.event = { type: "attempt_started", attempt: 1, adapter_id: "echo" };
  one[2]!.event = { type: "process_spawned", process_id: 1, pid: 7, identity: "i", argv: ["/bin/sleep", "9"] };
  more[0]!.event = { type: "process_exited", process_id: 1, pid: 7, exit_code: 0, signal: null, duration_ms: 1 };
  other[1]!.event = { type: "process_spawned", process_id: 1, pid: 8, argv: ["/bin/cat"] };
  more[2]!.event = ended;
  return [one, other, more, last];
}

interface Old {
  version: number;
  batches: Envelope[][];
}

/** As versions before the table of sessions and the chain wrote it. */
async function writeBefore(file: string, { version, batches }: Old): Promise<void> {
  const database = await openSqlite(file, { busyTimeoutMs: 1000 });
  migrate(database, { file, key: new Uint8Array(32), to: version });
  const insert = database.prepare("INSERT INTO batch VALUES (?, ?, ?, ?, ?, ?, ?)");
  let last = 0;
  for (const envelopes of batches) {
    const row = rowOf({ session_id: envelopes[0]!.session_id, envelopes }, last)!;
    const { last_gseq, first_gseq, session_id, first_seq, last_seq, count, body } = row;
    insert.run(last_gseq, first_gseq, session_id, first_seq, last_seq, count, body);
    last = last_gseq;
  }
  database.exec(`UPDATE state SET last_gseq = ${last}`);
  database.close();
}

/** What each later version made, so that it can be taken away. */
const added: Readonly<Record<number, string>> = {
  4: "DROP TABLE idempotency",
  5: "DROP TABLE attempt; DROP TABLE child; DROP TABLE granted; DROP INDEX session_by_start",
  6: "",
  7: `DROP TABLE lost_event; DROP TABLE lost_link; DROP INDEX session_by_order;
    ALTER TABLE session DROP COLUMN sorted_at; CREATE INDEX session_by_start ON session (started_at)`,
  8: "DROP TABLE spend",
  9: "ALTER TABLE spend DROP COLUMN partial; ALTER TABLE spend DROP COLUMN requests",
  10: `DROP INDEX session_by_conversation; ALTER TABLE session DROP COLUMN conversation_id;
    ALTER TABLE session DROP COLUMN follows_session; ALTER TABLE session DROP COLUMN last_turn`,
};

/** As the newest version writes it, without what came after that version. */
async function writeSince(file: string, { version, batches }: Old): Promise<void> {
  const journal = await openJournal(file);
  for (const envelopes of batches) await journal.append({ session_id: envelopes[0]!.session_id, envelopes });
  await journal.close();
  const database = await openSqlite(file, { busyTimeoutMs: 1000 });
  for (let newer = schemaVersion; newer > version; newer--) database.exec(added[newer]!);
  database.exec(`PRAGMA user_version = ${version}`);
  database.close();
}

describe("migrate", () => {
  it.each(Array.from({ length: schemaVersion - 1 }, (_, at) => at + 1))(
    "brings a journal of version %i to the newest, with all its events and sessions",
    async (version) => {
      const file = join(folder, `version-${version}.db`);
      const batches = someEnvelopes();
      await (version < 3 ? writeBefore : writeSince)(file, { version, batches });
      const journal = await openJournal(file);
      expect(await readAll(journal)).toEqual(batches.flat());
      expect(await journal.openSessions()).toEqual(["open"]);
      const numbers = {
        first_gseq: 1,
        last_gseq: 9,
        last_seq: 6,
        deleted: null,
        cost: null,
        currency: null,
        model: null,
      };
      const alone = { conversation_id: "ended", follows_session: null, last_turn: 1 };
      expect(await journal.session("ended")).toEqual({
        session_id: "ended",
        state: "ended",
        adapter_id: "echo",
        workdir: "/w",
        title: "Say it",
        task_id: "t",
        labels: { team: "a" },
        started_at: batches[0]![0]!.ts,
        sorted_at: batches[0]![0]!.ts,
        ended_at: batches[2]![2]!.ts,
        outcome: "completed",
        stop_reason: "end_turn",
        ...numbers,
        ...alone,
      });
      expect((await journal.sessions({ conversation_id: "ended", limit: 9 })).map(({ session_id }) => session_id))
        .toEqual(["ended"]);
      const at = batches[0]![0]!.ts;
      expect(await journal.history("ended")).toEqual({
        grants: [{ attempt: 1, adapter_id: "echo", permissions: { kv: true } }],
        attempts: [{ attempt: 1, adapter_id: "echo", started_at: at, ended_at: at, error_code: null }],
        children: [{
          process_id: 1,
          attempt: 1,
          pid: 7,
          identity: "i",
          program: "/bin/sleep",
          started_at: at,
          ended_at: at,
          exit_code: 0,
          signal: null,
        }],
      });
      expect(await journal.leftChildren()).toEqual([
        { session_id: "open", pid: 8, identity: null, program: "/bin/cat" },
      ]);
      expect(await verifyJournal(file)).toMatchObject({ ok: true, problems: [] });
      expect(await journal.session("open")).toMatchObject({ state: "running", first_gseq: 4, last_seq: 6 });
      await journal.append({ session_id: "open", envelopes: [{ ...batches[3]![2]!, seq: 7, gseq: 13, event: ended }] });
      expect(await journal.openSessions()).toEqual([]);
      await journal.close();
    },
  );

  it("keeps a copy of what an older version wrote, which it can read again, until a client deletes a session", async () => {
    const file = join(folder, "kept.db");
    await writeSince(file, { version: schemaVersion - 1, batches: someEnvelopes() });
    await (await openJournal(file)).close();
    const copy = `${file}.version-${schemaVersion - 1}`;
    const database = await openSqlite(copy, { busyTimeoutMs: 1000 });
    expect(database.prepare("PRAGMA user_version").get()).toMatchObject({ user_version: schemaVersion - 1 });
    expect(database.prepare("SELECT sum(count) AS events FROM batch").get()).toMatchObject({ events: 12 });
    database.close();

    const journal = await openJournal(file);
    await journal.delete("ended", "retention");
    expect(existsSync(copy)).toBe(true);
    await journal.delete("open", "client");
    expect(existsSync(copy)).toBe(true);
    await journal.append({
      session_id: "open",
      envelopes: [{ ...new EnvelopeSource(12).next("open"), seq: 7, event: ended }],
    });
    await journal.delete("open", "client");
    expect(existsSync(copy)).toBe(false);
    await journal.close();
  });
});
