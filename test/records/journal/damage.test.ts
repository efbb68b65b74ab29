import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { chainKeyFile } from "../../../core/records/journal/chain-key.ts";
import type { Journal } from "../../../core/records/journal/journal.ts";
import { openSqlite } from "../../../core/ground/platform/state/sqlite.ts";
import { openJournal } from "../../../core/records/journal/open-journal.ts";
import { acknowledgeDamage, damageReports } from "../../../core/records/journal/salvage/damage-report.ts";
import { verifyJournal } from "../../../core/records/journal/verify-journal.ts";
import { ended, EnvelopeSource, readAll } from "./journal-fixture.ts";
import { damagePage, findPages, pageBytes, type PageKinds, seeded } from "./pages.ts";

const batches = 160;
const sessions = ["a", "b", "c", "d"];

let folder: string;
let whole: string;
let pages: PageKinds;
let files = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "bulkhead-damage-"));
  whole = join(folder, "whole.db");
  const journal = await openJournal(whole);
  const source = new EnvelopeSource();
  for (let at = 0; at < batches; at++) {
    const session_id = sessions[at % 4]!;
    const envelopes = source.batch(session_id, 2, at % 16 === 3 ? "y".repeat(9000) : "x".repeat(900));
    // The session "d" goes on.
    if (at >= batches - 4 && session_id !== "d") envelopes[1]!.event = ended;
    await journal.append({ session_id, envelopes });
  }
  await journal.delete("c", "client");
  await journal.close();
  pages = await findPages(whole);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => vi.useRealTimers());

function copied(): string {
  const file = join(folder, `${++files}.db`);
  copyFileSync(whole, file);
  copyFileSync(chainKeyFile(whole), chainKeyFile(file));
  return file;
}

/** Numbers of a session's events, with those that a gap stands for; of these how many. */
function told(events: readonly Envelope[]): { seqs: number[]; lost: number } {
  let lost = 0;
  const seqs = events.flatMap(({ seq, event }) => {
    if (event.type !== "gap") return [seq];
    lost += event.to_seq - event.from_seq + 1;
    return Array.from({ length: event.to_seq - event.from_seq + 1 }, (_, at) => event.from_seq + at);
  });
  return { seqs, lost };
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, at) => at + 1);
}

/** Appends to the session that goes on, whose next event has this number. */
async function goOn(journal: Journal, seq: number): Promise<void> {
  const [envelope] = new EnvelopeSource(journal.lastGseq).batch("d", 1);
  await journal.append({ session_id: "d", envelopes: [{ ...envelope!, seq }] });
}

/** Every event of every session is there, or a gap tells that it is not; and all goes on. */
async function expectAllTold(
  found: Journal,
  { file, said, onProblem, most }: { file: string; said: string[]; onProblem(message: string): void; most: number },
) {
  let journal = found;
  if (said.length === 0) {
    // Nothing met it so far: a verification does, and marks it for the next host.
    await journal.close();
    await verifyJournal(file).catch(() => {});
    journal = await openJournal(file, { onProblem });
  }
  const perSession = (2 * batches) / 4;
  await goOn(journal, perSession + 1);
  let lost = 0;
  for (const [id, count] of [["a", perSession], ["b", perSession], ["d", perSession + 1]] as const) {
    const found = told(await readAll(journal, { sessionId: id }));
    expect(found.seqs).toEqual(upTo(count));
    lost += found.lost;
  }
  expect(lost).toBeLessThanOrEqual(most);
  expect((await journal.sessions({ limit: 10 })).map(({ session_id }) => session_id)).toEqual(["d", "b", "a"]);
  expect(await journal.openSessions()).toEqual(["d"]);
  expect((await journal.session("c"))?.deleted).not.toBeNull();
  await journal.sweep();
  await journal.close();
  const reports = await damageReports(file);
  const report = reports.at(-1);
  if (said.length > 0) {
    expect(said).toHaveLength(1);
    expect(report?.lost_events).toBe(lost);
    expect(said[0]).toMatch(
      lost === 0 ? /Nothing is missing|No event of a known session is missing|cannot be told\.( |$)/ : `${lost} event`,
    );
  } else expect({ lost, reports }).toEqual({ lost: 0, reports: [] });
  expect(await verifyJournal(file)).toMatchObject({ ok: true, problems: [] });
  return { lost, report };
}

/** When a damage is found. Each gets a journal whose file `hurt` damages, and returns the journal as it is then. */
const moments = {
  "at start": async (file: string, { hurt, onProblem }: Hurt) => {
    hurt(file);
    // As a killed host leaves it, of which the whole structure is looked at.
    writeFileSync(`${file}-wal`, "x");
    return await openJournal(file, { onProblem });
  },
  "at a read": async (file: string, { hurt, onProblem }: Hurt) => {
    const journal = await openJournal(file, { onProblem });
    hurt(file);
    await readAll(journal);
    for (const sessionId of sessions) await readAll(journal, { sessionId });
    return journal;
  },
  "at a write": async (file: string, { hurt, onProblem }: Hurt) => {
    const journal = await openJournal(file, { onProblem });
    hurt(file);
    await journal.noteKey({ name: "k", digest: "d", session_id: "d" }, 10);
    return journal;
  },
  "by verify": async (file: string, { hurt, onProblem }: Hurt) => {
    const journal = await openJournal(file, { onProblem });
    hurt(file);
    await verifyJournal(file).catch(() => {});
    await journal.sweep();
    return journal;
  },
};

interface Hurt {
  hurt(file: string): void;
  onProblem(message: string): void;
}

/** Events that each kind of page may cost. */
const costs: Readonly<Record<keyof PageKinds, number>> = {
  schema: 0,
  interior: 0,
  index: 0,
  freelist: 0,
  state: 0,
  links: 0,
  sessions: 0,
  leaf: 8,
  overflow: 2,
};

describe("a damaged journal", () => {
  const kinds = Object.keys(costs) as (keyof PageKinds)[];
  const cases = kinds.flatMap((kind, at) =>
    Object.entries(moments).map(([when, meet], then) => ({ kind, when, meet, fill: (at + then) % 2 }))
  );
  it.each(cases)("costs only what stood in it: $kind, found $when", async ({ kind, meet, fill }) => {
    const file = copied();
    const said: string[] = [];
    const onProblem = (message: string) => void said.push(message);
    const hurt = (path: string) => damagePage(path, pages[kind], fill === 0 ? 0 : seeded(pages[kind]));
    const journal = await meet(file, { hurt, onProblem });
    await expectAllTold(journal, { file, said, onProblem, most: costs[kind] });
    expect(said).toHaveLength(1);
  });

  it.each<{ what: string; hurt(file: string): void; kept: [least: number, most: number]; says: RegExp }>([
    { what: "half a file", hurt: (file) => truncateSync(file, halfOf(file)), kept: [50, 200], says: /./ },
    {
      what: "half a page",
      hurt: (file) => truncateSync(file, statSync(file).size - 2000),
      kept: [200, 240],
      says: /./,
    },
    { what: "an emptied file", hurt: (file) => truncateSync(file), kept: [0, 0], says: /the file is empty/ },
    { what: "no file", hurt: (file) => rmSync(file), kept: [0, 0], says: /the file is gone.*nothing to read/ },
    { what: "garbage", hurt: (file) => writeFileSync(file, "x".repeat(99_999)), kept: [0, 0], says: /not a database/ },
    {
      what: "an emptied key",
      hurt: (file) => truncateSync(chainKeyFile(file)),
      kept: [240, 240],
      says: /its key was damaged/,
    },
    { what: "no key", hurt: (file) => rmSync(chainKeyFile(file)), kept: [240, 240], says: /its key is gone/ },
    {
      what: "the key of another journal",
      hurt: (file) => writeFileSync(chainKeyFile(file), "ab".repeat(32)),
      kept: [240, 240],
      says: /can no longer be verified/,
    },
  ])("is set aside at the start, and what can be read is kept: $what", async ({ hurt, kept: [least, most], says }) => {
    const file = copied();
    hurt(file);
    const said: string[] = [];
    const journal = await openJournal(file, { onProblem: (message) => said.push(message) });
    expect(said).toEqual([expect.stringMatching(says)]);
    const { length } = (await readAll(journal)).filter(({ event }) => event.type !== "gap");
    expect(length).toBeGreaterThanOrEqual(least);
    expect(length).toBeLessThanOrEqual(most);
    expect(journal.lastGseq).toBeGreaterThanOrEqual(most === 0 ? 1e12 : 2 * batches);
    await goOn(journal, 999);
    await journal.close();
    expect((await verifyJournal(file)).problems).toEqual([]);
    await (await openJournal(file, { onProblem: (message) => said.push(message) })).close();
    expect(said).toHaveLength(1);
  });

  it("is set aside where another program's database took its place", async () => {
    const file = copied();
    const database = await openSqlite(join(folder, "foreign.db"), { busyTimeoutMs: 1000 });
    database.exec("CREATE TABLE theirs (x TEXT); INSERT INTO theirs VALUES ('y')");
    database.close();
    copyFileSync(join(folder, "foreign.db"), file);
    const said: string[] = [];
    await (await openJournal(file, { onProblem: (message) => said.push(message) })).close();
    expect(said).toEqual([expect.stringContaining("it is a database of another program")]);
    const other = join(folder, "theirs.db");
    copyFileSync(join(folder, "foreign.db"), other);
    // Without a key beside it, it never was a journal.
    await expect(openJournal(other, { onProblem: () => {} })).rejects.toThrow("it is a database of another program");
  });

  it("loses only what a damaged frame of its log held, and says so", async () => {
    const file = copied();
    const limits = { checkpoint_interval_ms: 60_000 };
    const journal = await openJournal(file, { limits });
    const source = new EnvelopeSource(journal.lastGseq);
    for (let at = 0; at < 40; at++) {
      await journal.append({ session_id: "e", envelopes: source.batch("e", 1, "z".repeat(3000)) });
    }
    const killed = copiedFrom(file);
    await journal.close();
    const frame = 4096 + 24;
    const middle = 32 + frame * Math.floor((statSync(`${killed}-wal`).size - 32) / frame / 2);
    writeAt(`${killed}-wal`, middle + 100);
    const said: string[] = [];
    const left = await openJournal(killed, { onProblem: (message) => said.push(message) });
    expect(said).toEqual([expect.stringContaining("its write-ahead log is damaged in a place")]);
    const found = told(await readAll(left, { sessionId: "e" }));
    expect(found.seqs).toEqual(upTo(40));
    expect(found.lost).toBeLessThan(5);
    await left.close();
    expect((await verifyJournal(killed)).ok).toBe(true);
  });

  it("takes nothing of its log for damage where the host was killed", async () => {
    const file = copied();
    const journal = await openJournal(file, { limits: { checkpoint_interval_ms: 60_000 } });
    const source = new EnvelopeSource(journal.lastGseq);
    for (let at = 0; at < 5; at++) await journal.append({ session_id: "e", envelopes: source.batch("e", 1) });
    const killed = copiedFrom(file);
    await journal.close();
    // The last frame is torn.
    truncateSync(`${killed}-wal`, statSync(`${killed}-wal`).size - 1000);
    const said: string[] = [];
    await (await openJournal(killed, { onProblem: (message) => said.push(message) })).close();
    expect(said).toEqual([]);
  });

  it("tells a running session what it lost in the middle of its work, and appends go on in their order", async () => {
    const file = copied();
    const database = await openSqlite(file, { busyTimeoutMs: 1000 });
    const sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'batch'";
    const { rootpage } = database.prepare(sql).get() as { rootpage: number };
    database.close();
    const said: string[] = [];
    let appended: Promise<unknown> = Promise.resolve();
    const journal = await openJournal(file, {
      onProblem(message) {
        said.push(message);
        // They come while the file is being replaced.
        const next = new EnvelopeSource(2 * batches).batch("d", 6).map((envelope, at) => ({
          ...envelope,
          seq: 81 + at,
        }));
        appended = Promise.all(next.map((envelope) => journal.append({ session_id: "d", envelopes: [envelope] })));
      },
    });
    // The newest events are in the last page, which an open journal does not read again; the oldest ones in the first.
    for (const page of [pages.leaf, lastChild(file, rootpage)]) damagePage(file, page, 0);
    await readAll(journal);
    await appended;
    expect(said).toHaveLength(1);
    const { seqs, lost } = told(await readAll(journal, { sessionId: "d" }));
    expect(seqs).toEqual(upTo(86));
    expect(lost).toBeGreaterThan(0);
    expect((await readAll(journal)).map(({ gseq }) => gseq).slice(-6)).toEqual(upTo(6).map((at) => 2 * batches + at));
    await journal.close();
    expect((await verifyJournal(file)).ok).toBe(true);
  });

  it("numbers the events of a session on after those that it lost at its end", async () => {
    const file = copied();
    const database = await openSqlite(file, { busyTimeoutMs: 1000 });
    // The end of "d", and of others beside it.
    database.exec("UPDATE batch SET body = 'x' WHERE first_seq > 70");
    database.close();
    const said: string[] = [];
    const journal = await openJournal(file, { onProblem: (message) => said.push(message) });
    for (const sessionId of ["a", "b"]) {
      expect(told(await readAll(journal, { sessionId }))).toEqual({ seqs: upTo(80), lost: 10 });
    }
    // What stands between may have been of a deleted session, so that this is the most it can be.
    const { last_seq = 0 } = (await journal.session("d")) ?? {};
    expect([last_seq >= 80, last_seq <= 90]).toEqual([true, true]);
    expect(told(await readAll(journal, { sessionId: "d" })).seqs).toEqual(upTo(last_seq));
    expect(said).toEqual([expect.stringMatching(/Up to \d+ events are missing of 3 sessions/)]);
    await journal.close();
  });

  it("stays as it was where no new one can be made, and is set aside once it can", async () => {
    const file = copied();
    vi.useFakeTimers({ toFake: ["Date"] });
    const said: string[] = [];
    const journal = await openJournal(file, { onProblem: (message) => said.push(message) });
    damagePage(file, pages.leaf, 0);
    const before = readFileSync(file);
    mkdirSync(`${file}.repairing/full`, { recursive: true });
    await expect(readAll(journal)).rejects.toMatchObject({ code: "journal_error" });
    await expect(goOn(journal, 81)).rejects.toMatchObject({ code: "journal_error" });
    expect(readFileSync(file).equals(before)).toBe(true);
    rmSync(`${file}.repairing`, { recursive: true });
    vi.setSystemTime(Date.now() + 6000);
    await goOn(journal, 81);
    expect(told(await readAll(journal, { sessionId: "d" })).seqs).toEqual(upTo(81));
    expect(said).toHaveLength(1);
    await journal.close();
  });

  it("is told until the operator has taken note of it, or removed its file", async () => {
    const file = copied();
    damagePage(file, pages.leaf, 0);
    writeFileSync(`${file}-wal`, "x");
    await (await openJournal(file, { onProblem: () => {} })).close();
    const [report] = await damageReports(file);
    expect(report).toMatchObject({ lost_events: expect.any(Number) as number, key_lost: false });
    rmSync(report!.aside!);
    expect(await damageReports(file)).toEqual([]);
    writeFileSync(report!.aside!, "");
    expect(await acknowledgeDamage(file)).toBe(1);
    expect(await damageReports(file)).toEqual([]);
    expect(readdirSync(folder)).toContain(basename(report!.aside!));
  });

  it("loses nothing more by a second damage, and counts only what is new", async () => {
    const file = copied();
    const hurt = async (page: number) => {
      damagePage(file, page, 0);
      writeFileSync(`${file}-wal`, "x");
      await (await openJournal(file, { onProblem: () => {} })).close();
      return (await damageReports(file)).at(-1)!;
    };
    const first = await hurt(pages.leaf);
    expect(first.lost_events).toBeGreaterThan(0);
    const second = await hurt((await findPages(file)).index);
    expect(second).toMatchObject({ lost_events: 0, lost_links: 0, events: first.events });
    expect(await verifyJournal(file)).toMatchObject({ ok: true, lost: first.lost_links });
  });
});

function halfOf(file: string): number {
  return Math.floor(statSync(file).size / 2 / pageBytes) * pageBytes;
}

/** The files of an open journal, as a killed host leaves them. */
function copiedFrom(file: string): string {
  const copy = join(folder, `${++files}.db`);
  for (const end of ["", "-wal"]) copyFileSync(`${file}${end}`, `${copy}${end}`);
  copyFileSync(chainKeyFile(file), chainKeyFile(copy));
  return copy;
}

function writeAt(file: string, at: number): void {
  const bytes = readFileSync(file);
  bytes.fill(0xa5, at, at + 64);
  writeFileSync(file, bytes);
}

/** The last page below one of an inner page. */
function lastChild(file: string, page: number): number {
  const bytes = readFileSync(file);
  const start = (page - 1) * pageBytes;
  return bytes[start] === 5 ? lastChild(file, bytes.readUInt32BE(start + 8)) : page;
}
