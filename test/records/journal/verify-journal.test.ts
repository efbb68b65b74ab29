import fc from "fast-check";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chainKeyFile } from "../../../core/records/journal/chain-key.ts";
import { openJournal } from "../../../core/records/journal/open-journal.ts";
import { type ChainReport, verifyJournal } from "../../../core/records/journal/verify-journal.ts";
import { openSqlite, type SqliteFile } from "../../../core/ground/platform/state/sqlite.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { ended, EnvelopeSource } from "./journal-fixture.ts";

let folder: string;
let files = 0;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "bulkhead-verify-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A journal of three sessions in six batches of two events each; the sessions `deleted` are deleted. */
async function someJournal(deleted: string[] = []): Promise<string> {
  const file = join(folder, `${++files}.db`);
  const journal = await openJournal(file);
  const source = new EnvelopeSource();
  for (const last of [false, true]) {
    for (const session_id of ["a", "b", "c"]) {
      const envelopes = source.batch(session_id, 2, `said by ${session_id} ünd`);
      if (last) envelopes[1]!.event = ended;
      await journal.append({ session_id, envelopes });
    }
  }
  for (const session_id of deleted) await journal.delete(session_id, "client");
  await journal.close();
  return file;
}

/** A session of all that the lists tell of, and one that runs. */
async function toldJournal(): Promise<string> {
  const file = join(folder, `${++files}.db`);
  const journal = await openJournal(file);
  const source = new EnvelopeSource();
  const events = [
    { type: "session_started", effective: { permissions: { kv: true } }, requested: { prompt: "Do it" } },
    { type: "attempt_started", attempt: 1, adapter_id: "echo" },
    { type: "process_spawned", process_id: 1, pid: 7, argv: ["/bin/cat"] },
    { type: "process_exited", process_id: 1, pid: 7, exit_code: null, signal: "SIGKILL", duration_ms: 1 },
    ended,
  ] as Envelope["event"][];
  const envelopes = events.map((event): Envelope => ({ ...source.next("a"), event }));
  await journal.append({ session_id: "a", envelopes: envelopes.slice(0, 2) });
  await journal.append({ session_id: "a", envelopes: envelopes.slice(2) });
  await journal.append({ session_id: "runs", envelopes: source.batch("runs", 1) });
  await journal.close();
  return file;
}

async function change<T>(file: string, act: (database: SqliteFile) => T): Promise<T> {
  const database = await openSqlite(file, { busyTimeoutMs: 1000 });
  try {
    return act(database);
  } finally {
    database.close();
  }
}

function sql(file: string, text: string): Promise<void> {
  return change(file, (database) => database.exec(text));
}

function problemsOf({ ok, problems }: ChainReport): string[] {
  expect(ok).toBe(problems.length === 0);
  return problems.map(({ problem, session_id, from_gseq, to_gseq }) =>
    `${problem} ${session_id} ${from_gseq}-${to_gseq}`
  );
}

describe("verifyJournal", () => {
  it("finds nothing in what was not touched, and says where the chain ends", async () => {
    const file = await someJournal();
    const report = await verifyJournal(file);
    expect(report).toMatchObject({ ok: true, batches: 6, events: 12, erased: 0, base: 0, problems: [] });
    expect(report.head).toEqual({ number: 6, mac: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(await verifyJournal(file, { head: report.head })).toMatchObject({ ok: true, kept_head: "found" });
  });

  it("finds every change of one byte of a body, and names its session and events", async () => {
    const file = await someJournal();
    const rows = await change(
      file,
      (database) =>
        database.prepare("SELECT last_gseq, session_id, body FROM batch").all() as {
          last_gseq: number;
          session_id: string;
          body: string;
        }[],
    );
    const set = (body: string, gseq: number) =>
      change(file, (database) => database.prepare("UPDATE batch SET body = ? WHERE last_gseq = ?").run(body, gseq));
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.nat(), fc.integer({ min: 32, max: 126 }), async (which, where, byte) => {
        const { last_gseq, session_id, body } = rows[which % rows.length]!;
        const at = where % body.length;
        const changed = body.slice(0, at) + String.fromCharCode(byte) + body.slice(at + 1);
        if (changed === body) return;
        await set(changed, last_gseq);
        const found = problemsOf(await verifyJournal(file));
        await set(body, last_gseq);
        expect(found).toEqual([`changed ${session_id} ${last_gseq - 1}-${last_gseq}`]);
      }),
      { numRuns: 60 },
    );
    expect((await verifyJournal(file)).ok).toBe(true);
  });

  it.each([
    ["a number", "UPDATE batch SET first_seq = 7 WHERE last_gseq = 6", ["changed c 5-6"]],
    ["a session's id", "UPDATE batch SET session_id = 'b' WHERE last_gseq = 6", ["changed b 5-6"]],
    ["a batch", "DELETE FROM batch WHERE last_gseq = 4", ["missing null 2-5"]],
    ["the first batch", "DELETE FROM batch WHERE last_gseq = 2", ["missing null 0-3"]],
    ["the last batch", "DELETE FROM batch WHERE last_gseq = 12", ["truncated null 10-12"]],
    ["several batches", "DELETE FROM batch WHERE last_gseq BETWEEN 3 AND 8", ["missing null 2-9"]],
    ["a batch with its link's number taken by another", "UPDATE batch SET number = NULL WHERE last_gseq = 6", [
      "missing null 4-7",
      "unchained c 5-6",
    ]],
  ])("finds what was done without the key: %s", async (_, text, found) => {
    const file = await someJournal();
    await sql(file, text);
    expect(problemsOf(await verifyJournal(file)).sort()).toEqual(found);
  });

  it("finds two batches in each other's place", async () => {
    const file = await someJournal();
    await sql(
      file,
      `CREATE TEMP TABLE kept AS SELECT * FROM batch WHERE last_gseq IN (4, 6);
       UPDATE batch SET body = (SELECT body FROM kept WHERE kept.last_gseq = 10 - batch.last_gseq)
         WHERE last_gseq IN (4, 6)`,
    );
    expect(problemsOf(await verifyJournal(file))).toEqual(["changed b 3-4", "changed c 5-6"]);
    const moved = await someJournal();
    await sql(
      moved,
      "UPDATE batch SET last_gseq = 100 WHERE last_gseq = 4; UPDATE batch SET last_gseq = 4 WHERE last_gseq = 6; " +
        "UPDATE batch SET last_gseq = 6 WHERE last_gseq = 100",
    );
    expect((await verifyJournal(moved)).ok).toBe(false);
  });

  it("finds an end that was cut off cleanly by the head that was kept, and by nothing else", async () => {
    const file = await someJournal();
    const { head } = await verifyJournal(file);
    await sql(
      file,
      `DELETE FROM batch WHERE last_gseq > 8; UPDATE state SET last_gseq = 8, head_number = 4,
        head_mac = (SELECT mac FROM batch WHERE number = 4)`,
    );
    // What is listed still says that they have ended, until that is undone as well.
    expect(problemsOf(await verifyJournal(file))).toEqual(["misstated b 3-4", "misstated c 5-6"]);
    await sql(
      file,
      `UPDATE session SET state = 0, last_gseq = first_gseq, last_seq = NULL, adapter_id = NULL, ended_at = NULL,
        outcome = NULL, stop_reason = NULL WHERE session_id IN ('b', 'c')`,
    );
    expect(problemsOf(await verifyJournal(file))).toEqual([]);
    const report = await verifyJournal(file, { head });
    expect(report).toMatchObject({ ok: false, kept_head: "missing" });
    expect(problemsOf(report)).toEqual(["truncated null 8-null"]);
    const other = { number: 3, mac: "f".repeat(64) };
    expect(problemsOf(await verifyJournal(file, { head: other }))).toEqual(["rewritten null 8-null"]);
  });

  it("knows what a deletion took away, and not what somebody else did", async () => {
    const file = await someJournal(["b"]);
    const report = await verifyJournal(file);
    expect(report).toMatchObject({ ok: true, batches: 4, events: 8, erased: 2, base: 0 });
    await sql(file, "DELETE FROM link WHERE kind = 'deleted'");
    expect((await verifyJournal(file)).problems.map(({ problem }) => problem).sort()).toEqual(["erased", "truncated"]);
    const claimed = await someJournal(["b"]);
    await sql(claimed, "UPDATE link SET session_id = 'c' WHERE number = 2");
    expect(problemsOf(await verifyJournal(claimed))).toEqual(["changed c 4-4", "erased c 4-4"]);
  });

  it("begins later when nothing of the beginning is left, and vouches for that", async () => {
    const file = await someJournal();
    const kept = (await verifyJournal(file)).head;
    const journal = await openJournal(file);
    for (const id of ["a", "b", "c"]) await journal.delete(id, "retention");
    await journal.close();
    const report = await verifyJournal(file, { head: kept });
    expect(report).toMatchObject({ ok: true, batches: 0, erased: 0, base: 9, kept_head: "folded" });
    await sql(file, "UPDATE base SET number = 8");
    expect((await verifyJournal(file)).ok).toBe(false);
  });

  it("does not fold over what is missing", async () => {
    const file = await someJournal();
    await sql(file, "DELETE FROM batch WHERE last_gseq = 4");
    const journal = await openJournal(file);
    for (const id of ["a", "b", "c"]) await journal.delete(id, "retention");
    await journal.close();
    expect(problemsOf(await verifyJournal(file))).toEqual(["missing null 2-6"]);
  });

  it("goes on over restarts and beside a second writer, and fails with another key", async () => {
    const file = await someJournal();
    const [one, two] = [await openJournal(file), await openJournal(file)];
    await one.append({ session_id: "d", envelopes: new EnvelopeSource(12).batch("d", 2) });
    await two.append({ session_id: "e", envelopes: new EnvelopeSource(14).batch("e", 2) });
    await one.append({ session_id: "d", envelopes: new EnvelopeSource(16).batch("d", 2) });
    expect(await verifyJournal(file)).toMatchObject({ ok: true, batches: 9 });
    await one.close();
    await two.close();
    rmSync(chainKeyFile(file));
    await expect(verifyJournal(file)).rejects.toMatchObject({ code: "not_found" });
    writeFileSync(chainKeyFile(file), `${"0".repeat(64)}\n`);
    expect((await verifyJournal(file)).problems).toHaveLength(9);
  });

  it.each([
    ["a session's outcome", "UPDATE session SET outcome = 'error', stop_reason = 'fatal' WHERE session_id = 'a'"],
    ["its prompt", "UPDATE session SET title = 'Something else' WHERE session_id = 'a'"],
    ["a text that is none", "UPDATE session SET title = CAST(x'ff' AS TEXT) WHERE session_id = 'a'"],
    ["the number of its last event", "UPDATE session SET last_seq = 3 WHERE session_id = 'a'"],
    ["the adapter of an attempt", "UPDATE attempt SET adapter_id = 'other' WHERE session = 1"],
    ["a program", "DELETE FROM child WHERE session = 1"],
    ["a grant", "UPDATE granted SET permissions = '{}' WHERE session = 1"],
    ["a row for it", "DELETE FROM session WHERE session_id = 'a'"],
    [
      "that it is there",
      "UPDATE session SET state = 2, deleted_at = 'x', deleted_by = 'client' WHERE session_id = 'a'",
    ],
  ])("finds what is listed and is not what the events say: %s", async (_, text) => {
    const file = await toldJournal();
    expect(problemsOf(await verifyJournal(file))).toEqual([]);
    await sql(file, text);
    expect(problemsOf(await verifyJournal(file))).toEqual(["misstated a 1-5"]);
  });

  it("finds a session that is listed and has no events, and one that runs with another's numbers", async () => {
    const file = await toldJournal();
    await sql(
      file,
      `INSERT INTO session (first_gseq, session_id, state, last_gseq, workdir, title, labels, started_at)
        VALUES (900, 'ghost', 0, 900, '', '', '{}', '');
       INSERT INTO attempt (session, attempt, adapter_id, started_at) VALUES (950, 1, 'a', '');
       UPDATE session SET started_at = 'long ago' WHERE session_id = 'runs'`,
    );
    expect(problemsOf(await verifyJournal(file))).toEqual([
      "misstated runs 6-6",
      "misstated ghost 900-null",
      "misstated null 950-null",
    ]);
  });

  it("asks for a journal that is there", async () => {
    await expect(verifyJournal(join(folder, "none.db"))).rejects.toMatchObject({ code: "not_found" });
  });
});
