import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { HistoryIndex } from "../../../core/records/history/history-index.ts";
import { wordQuery } from "../../../core/records/history/history-queries.ts";
import { openJournalReader } from "../../../core/records/journal/journal-reader.ts";
import { openJournal } from "../../../core/records/journal/sqlite-journal.ts";
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
  const open = (options: { mostBytes?: number } = {}) => {
    const index = new HistoryIndex({
      file: join(folder, "history.db"),
      openJournal: () => openJournalReader(journalFile),
      newest: () => journal.lastGseq,
      ...options,
    });
    closing.push(() => index.close());
    return index;
  };
  return { folder, journal, add, open };
}

const out = (data: string) => ({ type: "output", stream: "stdout", data });
const started = { type: "session_started", requested: { prompt: "Fix the parser" }, candidates: ["echo"] };
const spent = { model: "m", basis: "reported", cost: 0.5, currency: "USD", tokens_in: 10, tokens_out: 5 };
const endedAt = (usage: object) => ({
  type: "session_ended",
  result: { outcome: "completed", stop_reason: "end_turn", usage, provenance: { adapter_id: "echo" } },
});

async function find(index: HistoryIndex, typed: string): Promise<number[]> {
  const { found } = await index.ask((queries) => ({
    found: queries.findWords(wordQuery(typed) ?? "", { before: Number.MAX_SAFE_INTEGER, limit: 10 }),
  }));
  return found;
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
    spend: queries.spend("2025-01-01"),
    then: queries.countsAt(asked!.gseq),
    now: queries.countsAt(end!.gseq),
    sessions: queries.sessionsAt(asked!.gseq, 10),
    number: queries.numberAt("2026-01-01T00:00:00.000Z"),
    time: queries.timeAt(start!.gseq),
  }));
  expect(answer.uses).toMatchObject([{ session_id: "a", seq: 2, adapter_id: "echo", event: denied }]);
  expect(answer.none).toEqual([]);
  expect(answer.spend).toMatchObject([
    { day: "2025-01-01", adapter_id: "echo", model: "m", basis: "reported", cost: 1, tokens_in: 20, sessions: 2 },
    { basis: "reported", cost: null, sessions: 1 },
    { basis: "unknown", cost: null, sessions: 1 },
  ]);
  expect([answer.then, answer.now]).toEqual([
    { running: 1, ended: 0, waiting: 1 },
    { running: 0, ended: 4, waiting: 0 },
  ]);
  expect(answer.sessions).toEqual([{ session_id: "a", state: "running", waiting: 1 }]);
  expect(answer.number).toBe(end!.gseq);
  expect(answer.time).toBe("2025-01-01T00:00:00.000Z");
});
