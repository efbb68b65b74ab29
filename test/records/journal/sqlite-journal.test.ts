import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { chainKeyFile } from "../../../core/records/journal/chain-key.ts";
import { openJournal } from "../../../core/records/journal/open-journal.ts";
import { SessionCounting } from "../../../core/records/journal/session-groups.ts";
import { groupPages } from "../../../core/records/journal/session-pages.ts";
import { verifyJournal } from "../../../core/records/journal/verify-journal.ts";
import { openSqlite } from "../../../core/ground/platform/state/sqlite.ts";
import { EnvelopeSource, readAll } from "./journal-fixture.ts";
import { testJournal } from "./journal-suite.ts";
import { type Runnable, runnable } from "./runnable.ts";

let folder: string;
let files = 0;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "bulkhead-journal-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function newFile(): string {
  return join(folder, `${++files}.db`);
}

async function change(file: string, sql: string): Promise<void> {
  const database = await openSqlite(file, { busyTimeoutMs: 1000 });
  database.exec(sql);
  database.close();
}

describe("openJournal", () => {
  testJournal((limits = {}) => openJournal(newFile(), { limits }));

  it("continues after it was closed and opened again, any number of times", async () => {
    const file = newFile();
    for (let round = 0; round < 5; round++) {
      const journal = await openJournal(file);
      expect(journal.lastGseq).toBe(round * 8);
      const source = new EnvelopeSource(journal.lastGseq);
      await journal.append({ session_id: `s${round}`, envelopes: source.batch(`s${round}`, 8) });
      expect((await readAll(journal)).map(({ gseq }) => gseq)).toEqual(
        Array.from({ length: 8 * round + 8 }, (_, i) => i + 1),
      );
      await journal.close();
    }
  });

  it("looks through thousands of sessions a part at a time, and passes over none", async () => {
    const journal = await openJournal(newFile());
    const source = new EnvelopeSource();
    const start = async (at: number) => {
      const id = `s${at}`;
      const requested = { prompt: at % 4000 === 0 ? "needle" : "hay" };
      const event = { type: "session_started", requested, workdir: `/w/${at % 3}`, labels: {} } as unknown;
      // Some begin in the same moment.
      const ts = new Date(1.7e12 + Math.floor(at / 7) * 1000).toISOString();
      const opening = { ...source.next(id), ts, event: event as Envelope["event"] };
      await journal.append({ session_id: id, envelopes: [opening] });
    };
    await Promise.all(Array.from({ length: 5000 }, (_, at) => start(at)));
    const found = await journal.sessions({ text: "needle", limit: 10 });
    expect(found.map(({ session_id }) => session_id)).toEqual(["s4000", "s0"]);
    const listed = await journal.sessions({ limit: 5000, folder: "1" });
    expect(new Set(listed.map(({ session_id }) => session_id)).size).toBe(1667);
    const counting = new SessionCounting({});
    let parts = 0;
    for await (const groups of groupPages(journal, {})) {
      counting.add(groups);
      parts++;
    }
    expect(parts).toBe(3);
    expect(counting.counts).toMatchObject({
      total: 5000,
      folders: [{ name: "0", count: 1667 }, { name: "1", count: 1667 }, { name: "2", count: 1666 }],
    });
    await journal.close();
  });

  it("keeps the highest number when the newest events are deleted", async () => {
    const file = newFile();
    const journal = await openJournal(file);
    const source = new EnvelopeSource();
    await journal.append({ session_id: "a", envelopes: source.batch("a", 3) });
    await journal.append({ session_id: "a", envelopes: source.batch("a", 3) });
    await journal.close();
    await change(file, "DELETE FROM batch WHERE last_gseq = 6");
    const again = await openJournal(file);
    expect(again.lastGseq).toBe(6);
    expect((await readAll(again)).map(({ gseq }) => gseq)).toEqual([1, 2, 3]);
    await expect(again.append({ session_id: "a", envelopes: new EnvelopeSource(3).batch("a", 1) })).rejects
      .toMatchObject({
        code: "journal_error",
      });
    await again.close();
  });

  it("writes one row per batch, and what its envelopes have in common once", async () => {
    const file = newFile();
    const journal = await openJournal(file);
    const envelopes = new EnvelopeSource(10).batch("a", 3);
    await journal.append({ session_id: "a", envelopes });
    await journal.close();
    const database = await openSqlite(file, { busyTimeoutMs: 1000 });
    expect(database.prepare("SELECT * FROM batch").get()).toMatchObject({
      session_id: "a",
      first_seq: 1,
      last_seq: 3,
      first_gseq: 11,
      last_gseq: 13,
      count: 3,
    });
    const { body } = database.prepare("SELECT body FROM batch").get() as { body: string };
    const { event, ...head } = envelopes[0]!;
    expect(JSON.parse(body)).toEqual([{ ...head, events: [event, "text", "text"] }]);
    database.close();
  });

  it("puts the appends of one turn into one transaction", async () => {
    const file = newFile();
    const journal = await openJournal(file, { limits: { checkpoint_interval_ms: 60_000 } });
    const source = new EnvelopeSource();
    const walBytes = (): number => statSync(`${file}-wal`).size;
    await journal.append({ session_id: "a", envelopes: source.batch("a", 1) });
    const before = walBytes();
    await journal.append({ session_id: "a", envelopes: source.batch("a", 1) });
    const single = walBytes() - before;
    await Promise.all(
      Array.from({ length: 20 }, () => journal.append({ session_id: "a", envelopes: source.batch("a", 1) })),
    );
    // Each transaction writes at least its changed pages to the log.
    expect(walBytes() - before - single).toBeLessThan(5 * single);
    await journal.close();
  });

  it("is readable by its owner alone", async () => {
    const file = newFile();
    const journal = await openJournal(file);
    await journal.append({ session_id: "a", envelopes: new EnvelopeSource().batch("a", 1) });
    for (const name of [file, `${file}-wal`, chainKeyFile(file)]) expect(statSync(name).mode & 0o777).toBe(0o600);
    await journal.close();
  });

  it("moves the log into the database in the background, and lets it start over under steady load", async () => {
    const file = newFile();
    const limits = { checkpoint_bytes: 64 * 1024, checkpoint_interval_ms: 10 };
    const journal = await openJournal(file, { limits });
    const source = new EnvelopeSource();
    const logBytes = (): number => statSync(`${file}-wal`).size;
    // Each append writes at least its two pages to the log, so that one which never starts over is as large as all.
    let written = 0;
    while (written < 20_000 * 8192 && (written < 200 * 8192 || written < 4 * logBytes())) {
      await journal.append({ session_id: "a", envelopes: source.batch("a", 1, "x".repeat(5000)) });
      written += 8192;
    }
    expect(written).toBeGreaterThanOrEqual(4 * logBytes());
    expect((await readAll(journal)).length).toBe(written / 8192);
    await journal.close();
    expect(statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0).toBe(0);
    expect(statSync(file).size).toBeGreaterThan(written / 2);
  });

  it("keeps two openers of one file from writing the same numbers", async () => {
    const file = newFile();
    const [one, two] = [await openJournal(file), await openJournal(file)];
    await one.append({ session_id: "a", envelopes: new EnvelopeSource().batch("a", 2) });
    expect((await two.read({ after: 0 })).map(({ gseq }) => gseq)).toEqual([1, 2]);
    await expect(two.append({ session_id: "b", envelopes: new EnvelopeSource(1).batch("b", 1) })).rejects.toMatchObject(
      {
        code: "journal_error",
        message: `Cannot write the journal "${file}": event 2 does not come after what another process wrote.`,
      },
    );
    await two.append({ session_id: "b", envelopes: new EnvelopeSource(2).batch("b", 1) });
    expect((await readAll(one)).map(({ gseq }) => gseq)).toEqual([1, 2, 3]);
    await one.close();
    await two.close();
  });

  it("gives up on a file that another process keeps locked, and goes on when it is free", async () => {
    const file = newFile();
    const journal = await openJournal(file, { limits: { busy_timeout_ms: 20 } });
    const other = await openSqlite(file, { busyTimeoutMs: 20 });
    other.exec("BEGIN IMMEDIATE");
    const source = new EnvelopeSource();
    await expect(journal.append({ session_id: "a", envelopes: source.batch("a", 2) })).rejects.toMatchObject({
      code: "journal_error",
      hint: "Another process writes to it: stop that host, or set another state_dir.",
    });
    await expect(openJournal(file, { limits: { busy_timeout_ms: 20 } })).rejects.toMatchObject({
      code: "journal_error",
    });
    other.exec("ROLLBACK");
    await journal.append({ session_id: "a", envelopes: source.batch("a", 1) });
    expect((await readAll(journal)).map(({ gseq }) => gseq)).toEqual([3]);
    other.close();
    await journal.close();
  });
});

describe("openJournal refuses", () => {
  const notOurs = { code: "journal_error", hint: expect.stringContaining("state_dir") };

  it("a file that is no database, and leaves it as it is", async () => {
    const file = newFile();
    writeFileSync(file, "Dear diary, ".repeat(1000));
    await expect(openJournal(file)).rejects.toMatchObject(notOurs);
    expect(readFileSync(file, "utf8")).toBe("Dear diary, ".repeat(1000));
  });

  it("a database of another program, and adds nothing to it", async () => {
    const file = newFile();
    await change(file, "CREATE TABLE theirs (x); PRAGMA user_version = 1");
    await expect(openJournal(file)).rejects.toMatchObject({
      ...notOurs,
      message: `Cannot open the journal "${file}": it is a database of another program.`,
    });
    const database = await openSqlite(file, { busyTimeoutMs: 1000 });
    expect(database.prepare("SELECT count(*) AS tables FROM sqlite_schema").get()).toMatchObject({ tables: 1 });
    database.close();
  });

  it("a journal of a newer version", async () => {
    const file = newFile();
    await (await openJournal(file)).close();
    await change(file, "PRAGMA user_version = 99");
    await expect(openJournal(file)).rejects.toMatchObject({
      ...notOurs,
      message: `Cannot open the journal "${file}": a newer version of the host made it.`,
      details: { schema_version: 99, known_version: 10 },
    });
  });

  it("a folder, and a file in a folder that is missing", async () => {
    const place = join(folder, "place");
    mkdirSync(place);
    await expect(openJournal(place)).rejects.toMatchObject({ code: "journal_error" });
    const missing = join(folder, "none", "x.db");
    await expect(openJournal(missing)).rejects.toMatchObject({
      ...notOurs,
      message: expect.stringMatching(/^Cannot open the journal ".*none\/x.db": /),
      details: { cause_code: "ENOENT" },
    });
  });

  it("to read what is damaged", async () => {
    const file = newFile();
    const journal = await openJournal(file);
    await journal.append({ session_id: "a", envelopes: new EnvelopeSource().batch("a", 5) });
    await change(file, "UPDATE batch SET body = '{\"v\":1'");
    await expect(journal.read({ after: 0 })).rejects.toMatchObject({
      code: "journal_error",
      message: expect.stringContaining(`Cannot read the journal "${file}"`),
    });
    await journal.close();
  });
});

describe("append to a file that cannot be written for a moment", () => {
  it("writes nothing that waits behind what was not written", async () => {
    const file = newFile();
    const journal = await openJournal(file, { limits: { busy_timeout_ms: 0, commit_bytes: 1 } });
    const source = new EnvelopeSource();
    await journal.append({ session_id: "a", envelopes: source.batch("a", 1) });
    const other = await openSqlite(file, { busyTimeoutMs: 0 });
    other.exec("BEGIN IMMEDIATE");
    const first = journal.append({ session_id: "a", envelopes: source.batch("a", 2) }).finally(() =>
      other.exec("ROLLBACK")
    );
    const second = journal.append({ session_id: "a", envelopes: source.batch("a", 1) });
    expect((await Promise.allSettled([first, second])).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await journal.append({ session_id: "b", envelopes: source.batch("b", 1) });
    expect((await readAll(journal)).map(({ gseq }) => gseq)).toEqual([1, 5]);
    other.close();
    await journal.close();
    expect((await verifyJournal(file)).ok).toBe(true);
  });
});

describe("openJournal after SIGKILL", () => {
  it("has all that was acknowledged, and nothing twice", async () => {
    const file = newFile();
    const script = await runnable("append-until-killed.ts", folder);
    for (const lines of [1, 40, 150, 400]) {
      const acknowledged = await appendAndKill(script, { file, lines });
      const journal = await openJournal(file);
      const found = (await readAll(journal)).map(({ gseq }) => gseq);
      expect(found).toEqual(Array.from({ length: journal.lastGseq }, (_, index) => index + 1));
      expect(journal.lastGseq).toBeGreaterThanOrEqual(acknowledged);
      await journal.close();
    }
  }, 60_000);
});

/** Gives the last number that the child said was acknowledged. */
async function appendAndKill({ args, env }: Runnable, options: { file: string; lines: number }): Promise<number> {
  const child = spawn(process.execPath, [...args, options.file], { stdio: ["ignore", "pipe", "inherit"], env });
  const exited = once(child, "exit");
  let acknowledged = 0;
  let lines = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    acknowledged = Math.max(acknowledged, Number(line));
    if (++lines === options.lines) child.kill("SIGKILL");
  }
  await exited;
  expect(lines).toBeGreaterThanOrEqual(options.lines);
  expect(child.signalCode).toBe("SIGKILL");
  return acknowledged;
}
