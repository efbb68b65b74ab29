import { mkdtemp, open, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { HistoryIndex } from "../../../core/records/history/history-index.ts";
import { wordQuery, type WordsWanted } from "../../../core/records/history/history-queries.ts";
import { openJournalReader } from "../../../core/records/journal/journal-reader.ts";
import { openJournal } from "../../../core/records/journal/open-journal.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { afterEveryTest } from "../../clean-up.ts";
import { EnvelopeSource } from "../journal/journal-fixture.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEveryTest(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A journal in a folder of its own, with what writes to it. */
async function openHistory() {
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-history-"));
  closing.push(() => rm(folder, { recursive: true, force: true }));
  const journalFile = join(folder, "journal.db");
  const journal = await openJournal(journalFile);
  closing.push(() => journal.close());
  const source = new EnvelopeSource();
  const add = async (session: string, ...events: object[]) => {
    const envelopes = events.map((event) => ({ ...source.next(session), event } as Envelope));
    await journal.append({ session_id: session, envelopes });
    return envelopes;
  };
  const openIndex = (options: { mostBytes?: number; idleMs?: number } = {}) => {
    const index = new HistoryIndex({
      file: join(folder, "history.db"),
      openJournal: () => openJournalReader(journalFile),
      newest: () => journal.lastGseq,
      ...options,
    });
    closing.push(() => index.close());
    return index;
  };
  return { folder, journal, add, open: openIndex };
}

const out = (data: string) => ({ type: "output", stream: "stdout", data });
const started = {
  type: "session_started",
  labels: { team: "shore" },
  requested: { prompt: "Fix the parser" },
  candidates: ["echo"],
};
const spent = { model: "m", basis: "reported", cost: 0.5, currency: "USD", tokens_in: 10, tokens_out: 5 };
const endedAt = (usage: object) => ({
  type: "session_ended",
  result: { outcome: "completed", stop_reason: "end_turn", usage, provenance: { adapter_id: "echo" } },
});

/** Overwrites all of a database but the page that says that it is one. */
async function spoil(file: string): Promise<void> {
  await rm(`${file}-wal`, { force: true });
  const { size } = await stat(file);
  const handle = await open(file, "r+");
  await handle.write(new Uint8Array(size - 4096).fill(0x5a), 0, size - 4096, 4096);
  await handle.close();
}

async function find(index: HistoryIndex, typed: string, more: Partial<WordsWanted> = {}): Promise<number[]> {
  const wanted = { before: Number.MAX_SAFE_INTEGER, limit: 10, ...more };
  return (await index.ask((queries) => queries.findWords(wordQuery(typed) ?? "", wanted))).found;
}

test("words are found across the pieces in which an agent printed them, the newest first", async () => {
  const { add, open } = await openHistory();
  const [, first] = await add("a", started, out("The quick br"), out("own fox"), { type: "question", question: "Go?" });
  const [second] = await add("b", out("another brown dog"));
  const index = open();
  expect(await find(index, "brown")).toEqual([second!.gseq, first!.gseq]);
  expect(await find(index, "brown fo")).toEqual([first!.gseq]);
  expect(await find(index, "pars")).toHaveLength(1);
  expect(await find(index, 'brown" OR "fox')).toEqual([]);
  expect(await find(index, "brown* (fox)")).toEqual([first!.gseq]);
  expect(wordQuery('"(*)"')).toBe(null);
});

test("it goes on where it was, also after its process ended at any time", async () => {
  const { add, open } = await openHistory();
  await add("a", out("one "));
  const before = open();
  expect(await find(before, "one")).toHaveLength(1);
  await before.close();
  await add("a", out("two"), { type: "question", question: "three?" });
  const after = open();
  for (const word of ["one", "two", "three"]) expect(await find(after, word)).toHaveLength(1);
  const { indexed_to, last } = await after.ask(() => ({}));
  expect(indexed_to).toBe(last);
});

test("an index that cannot be read is made again", async () => {
  const { folder, add, open } = await openHistory();
  await add("a", out("kept"));
  await writeFile(join(folder, "history.db"), "no database");
  expect(await find(open(), "kept")).toHaveLength(1);
});

test("an index that turns out damaged is thrown away and made again, while it is open and when it is opened", async () => {
  const { folder, add, open } = await openHistory();
  for (let n = 0; n < 50; n++) {
    await add("a", out(`plank ${n} ${"of the deck ".repeat(200)}\n`), { type: "progress", message: "on" });
  }
  const index = open();
  expect(await find(index, "plank 49")).toHaveLength(1);
  await index.close();
  await spoil(join(folder, "history.db"));
  const again = open();
  expect(await find(again, "plank 49")).toHaveLength(1);
  expect((await again.ask((queries) => ({ then: queries.countsAt(1e9) }))).then.running).toBe(1);
  let asked = 0;
  const answer = await again.ask((queries) => {
    if (asked++ === 0) throw Object.assign(new Error("database disk image is malformed"), { code: "SQLITE_CORRUPT" });
    return { found: queries.findWords('"plank" "49"', { before: 1e9, limit: 1 }).found };
  });
  expect([answer.found.length, asked]).toEqual([1, 2]);
});

test("its files are closed some time after the last question, and opened by the next one", async () => {
  const { folder, add, open } = await openHistory();
  await add("a", out("ahoy"), { type: "progress", message: "on" });
  const index = open({ idleMs: 50 });
  expect(await find(index, "ahoy")).toHaveLength(1);
  // SQLite removes its log with the last connection.
  expect(await readdir(folder)).toContain("history.db-wal");
  await expect.poll(() => readdir(folder)).not.toContain("history.db-wal");
  expect(await find(index, "ahoy")).toHaveLength(1);
});

test("words are found of one agent, and in sessions with a label", async () => {
  const { add, open } = await openHistory();
  const labelled = (labels: object) => ({ ...started, labels });
  await add("a", labelled({ team: "shore", ticket: "7" }), out("tide one"), { type: "progress", message: "on" });
  await add("b", labelled({ team: "reef" }), out("tide two"), { type: "progress", message: "on" });
  await add(
    "c",
    labelled({}),
    ...Array.from({ length: 30 }, () => [out("tide"), { type: "progress", message: "on" }]).flat(),
  );
  const index = open();
  const all = { limit: 100 };
  expect(await find(index, "tide", all)).toHaveLength(32);
  expect(await find(index, "tide", { ...all, adapter: "echo" })).toHaveLength(32);
  expect(await find(index, "tide", { ...all, adapter: "other" })).toEqual([]);
  const [shore, reef] = await Promise.all(["shore", "reef"].map((team) => find(index, "tide", { labels: { team } })));
  expect([shore, reef].map((found) => found?.length)).toEqual([1, 1]);
  expect(shore).not.toEqual(reef);
  expect(await find(index, "tide", { labels: { team: "shore", ticket: "7" } })).toEqual(shore);
  expect(await find(index, "tide", { labels: { team: "shore", ticket: "8" } })).toEqual([]);
  const page = await index.ask((queries) =>
    queries.findWords('"tide"', { before: 1e9, limit: 20, labels: {}, adapter: "echo" })
  );
  expect([page.found.length, page.next]).toEqual([20, page.found.at(-1)]);
});

test("a session whose events were deleted is not found any more", async () => {
  const { folder, journal, add, open } = await openHistory();
  await add("a", started, out("secret plan"), endedAt(spent));
  await add("b", out("open plan"));
  const index = open();
  expect(await find(index, "plan")).toHaveLength(2);
  await journal.delete("a", "client");
  // Nobody asks anything after the deletion.
  index.forgetDeleted();
  await index.close();
  const bytes = await readFile(join(folder, "history.db"));
  expect(bytes.includes("secret")).toBe(false);
  expect(await find(open(), "plan")).toHaveLength(1);
});

test("an index is not made to forget something", async () => {
  const { folder, open } = await openHistory();
  const index = open();
  index.forgetDeleted();
  await index.close();
  expect(await readdir(folder)).not.toContain("history.db");
});

test("it drops its oldest tenth rather than grow beyond its size", async () => {
  const { add, open } = await openHistory();
  for (let n = 0; n < 40; n++) {
    await add("a", { type: "question", question: `word${n} ${"filler ".repeat(1000)}` });
  }
  const index = open({ mostBytes: 1 });
  expect(await find(index, "word39")).toHaveLength(1);
  expect(await find(index, "word0")).toEqual([]);
});

test("uses of permissions, spending and moments", async () => {
  const { add, open } = await openHistory();
  const denied = { type: "capability", permission: "net", target: "a.b:443", decision: "denied", grant_command: "x" };
  const [start, , asked] = await add("a", started, denied, {
    type: "permission_request",
    request_id: "r",
    tool: "Bash",
    title: "Run",
    options: [],
  });
  const usage = spent;
  await add("b", started, endedAt(usage));
  await add("c", started, endedAt({ ...usage, basis: "unknown", cost: null, currency: null }));
  await add("d", started, endedAt({ ...usage, cost: null }));
  const [end] = await add("a", endedAt(usage));
  const answer = await open().ask((queries) => ({
    uses: queries.uses({ decision: "denied" }, { before: Number.MAX_SAFE_INTEGER, limit: 10 }),
    none: queries.uses({ adapter: "other" }, { before: Number.MAX_SAFE_INTEGER, limit: 10 }),
    then: queries.countsAt(asked!.gseq),
    now: queries.countsAt(end!.gseq),
    sessions: queries.sessionsAt(asked!.gseq, 10),
    number: queries.numberAt("2026-01-01T00:00:00.000Z"),
    time: queries.timeAt(start!.gseq),
  }));
  expect(answer.uses).toMatchObject([{ session_id: "a", seq: 2, adapter_id: "echo", event: denied }]);
  expect(answer.none).toEqual([]);
  expect([answer.then, answer.now]).toEqual([
    { running: 1, ended: 0, waiting: 1 },
    { running: 0, ended: 4, waiting: 0 },
  ]);
  expect(answer.sessions).toEqual([{ session_id: "a", state: "running", waiting: 1 }]);
  expect(answer.number).toBe(end!.gseq);
  expect(answer.time).toBe("2025-01-01T00:00:00.000Z");
});
