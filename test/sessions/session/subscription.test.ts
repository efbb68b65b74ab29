import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { createMemoryJournal } from "../../records/journal/memory-journal.ts";
import type { Journal } from "../../../core/records/journal/journal.ts";
import type { BatchedEvents, EnvelopeBatch } from "../../../core/sessions/session/envelope-batches.ts";
import { type LogEntry, MergedLog, type Stream } from "../../../core/sessions/session/merged-log.ts";

const open: Journal[] = [];
afterEach(async () => {
  for (const journal of open.splice(0)) await journal.close();
});

function newLog(limits: { page_bytes?: number; page_events?: number } = {}): MergedLog {
  const journal = createMemoryJournal({ limits });
  open.push(journal);
  return new MergedLog(journal);
}

/** A log that counts how often its journal is read. */
function countedLog(): { log: MergedLog; reads: () => number } {
  const journal = createMemoryJournal();
  open.push(journal);
  let reads = 0;
  const log = new MergedLog({
    lastGseq: journal.lastGseq,
    append: (batch) => journal.append(batch),
    read: (page) => (reads++, journal.read(page)),
  });
  return { log, reads: () => reads };
}

function newStream(sessionId: string): Stream {
  return { sessionId, adapter: { id: "a", version: "1.0.0" }, attempt: 1, lastSeq: 0 };
}

function progress(message: string): LogEntry {
  return { source: "agent", event: { type: "progress", message } };
}

function ending(): LogEntry {
  return { source: "host", event: { type: "session_ended", result: {} as never } };
}

/** Reads in batches, in each of which an event stands for its number. */
async function readBatches(source: BatchedEvents, pause: () => Promise<void> = () => Promise.resolve()) {
  const seen: { gseqs: number[]; batch: EnvelopeBatch }[] = [];
  const batches = source.batches();
  for (let next = await batches.next(); !next.done; next = await batches.next()) {
    seen.push({ gseqs: next.value.envelopes.map(({ gseq }) => gseq), batch: next.value });
    await pause();
  }
  return seen;
}

async function readAll(source: AsyncIterable<Envelope>, afterEach: () => Promise<void> = () => Promise.resolve()) {
  const seen: number[] = [];
  for await (const { gseq } of source) {
    seen.push(gseq);
    await afterEach();
  }
  return seen;
}

function turns(count: number): Promise<void> {
  return count <= 0
    ? Promise.resolve()
    : new Promise<void>((resolve) => setImmediate(resolve)).then(() => turns(count - 1));
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

describe("Subscription", () => {
  test("a reader slower than the log is caught up from the journal and loses nothing", async () => {
    const log = newLog();
    const stream = newStream("s");
    const reading = readAll(log.subscribe({ sessionId: "s", heldBytes: 1500 }), () => turns(1));
    for (let batch = 0; batch < 50; batch++) await log.add(stream, [progress("a"), progress("b"), progress("c")]);
    await log.add(stream, [ending()]);
    expect(await reading).toEqual(upTo(151));
  });

  test("a reader that is there from the start and keeps up never reads the journal", async () => {
    const { log, reads } = countedLog();
    const stream = newStream("s");
    const events = log.subscribe({ sessionId: "s" });
    await log.add(stream, [progress("before it reads")]);
    const reading = readAll(events);
    for (let batch = 0; batch < 5; batch++) await log.add(stream, Array.from({ length: 4096 }, () => progress("a")));
    await log.add(stream, [ending()]);
    expect(await reading).toEqual(upTo(1 + 5 * 4096 + 1));
    expect(reads()).toBe(0);
  });

  test("what nobody has begun to read is left to the journal, but for a short session's length", async () => {
    const { log, reads } = countedLog();
    const [short, long] = [newStream("short"), newStream("long")];
    const unread = [short, long].map(({ sessionId }) => log.subscribe({ sessionId }));
    await log.add(short, [...Array.from({ length: 100 }, () => progress("a")), ending()]);
    await log.add(long, [...Array.from({ length: 300 }, () => progress("a")), ending()]);
    expect(await readAll(unread[0]!)).toEqual(upTo(101));
    expect(reads()).toBe(0);
    expect(await readAll(unread[1]!)).toEqual(upTo(402).slice(101));
    expect(reads()).toBeGreaterThan(0);
  });

  test("events of any size take no more memory than is allowed, read or not", async () => {
    const { log, reads } = countedLog();
    const stream = newStream("s");
    const unread = log.subscribe({ sessionId: "s" });
    const slow = log.subscribe({ sessionId: "s" })[Symbol.asyncIterator]();
    const first = slow.next();
    const huge = "x".repeat(1024 * 1024);
    for (let batch = 0; batch < 12; batch++) await log.add(stream, [progress(huge)]);
    await first;
    await log.add(stream, [ending()]);
    expect(reads()).toBe(0);
    // What is beyond is read from the journal: both lose nothing.
    expect(await readAll({ [Symbol.asyncIterator]: () => slow })).toEqual(upTo(13).slice(1));
    const afterSlow = reads();
    expect(afterSlow).toBeGreaterThan(0);
    expect(await readAll(unread)).toEqual(upTo(13));
    expect(reads()).toBeGreaterThan(afterSlow);
  });

  test("pages of the journal that end at a number of bytes are not taken for its end", async () => {
    const log = newLog({ page_bytes: 1000 });
    const stream = newStream("s");
    for (let batch = 0; batch < 20; batch++) await log.add(stream, [progress("x".repeat(400))]);
    await log.add(stream, [ending()]);
    expect(await readAll(log.subscribe({ after: 0, sessionId: "s" }))).toEqual(upTo(21));
  });

  test("a subscription that was settled unread gives all of it when it is read", async () => {
    const log = newLog({ page_bytes: 1000 });
    const stream = newStream("s");
    const subscription = log.subscribe({ sessionId: "s" });
    for (let batch = 0; batch < 20; batch++) await log.add(stream, [progress("x".repeat(400))]);
    subscription.settle();
    expect(await readAll(subscription)).toEqual(upTo(20));
  });

  test("by default what was added before, durable or not, is not seen", async () => {
    const log = newLog();
    const stream = newStream("s");
    const before = log.add(stream, [progress("before")]);
    const reading = readAll(log.subscribe({ sessionId: "s" }));
    await before;
    await turns(3);
    await log.add(stream, [progress("after"), ending()]);
    expect(await reading).toEqual([2, 3]);
  });

  test("leaving the loop ends the subscription and an abort ends a reader that waits", async () => {
    const log = newLog();
    const stream = newStream("s");
    await log.add(stream, [progress("a"), progress("b")]);
    const subscription = log.subscribe({ after: 0 });
    for await (const { gseq } of subscription) {
      expect(gseq).toBe(1);
      break;
    }
    expect(await readAll(subscription)).toEqual([]);
    const controller = new AbortController();
    const reading = readAll(log.subscribe({ after: 1, signal: controller.signal }));
    await turns(3);
    controller.abort();
    expect(await reading).toEqual([2]);
  });

  test("a session's reader sees no other session and stops at its end; the log's reader sees all until it is closed", async () => {
    const log = newLog();
    const [one, two] = [newStream("one"), newStream("two")];
    const own = readAll(log.subscribe({ sessionId: "one" }));
    const all = readAll(log.subscribe());
    await Promise.all([log.add(one, [progress("1")]), log.add(two, [progress("2")]), log.add(one, [ending()])]);
    await log.add(two, [ending()]);
    expect(await own).toEqual([1, 3]);
    await turns(3);
    log.close();
    expect(await all).toEqual([1, 2, 3, 4]);
  });

  test("events of several sessions in one turn are one batch, the same for all readers of all sessions", async () => {
    const log = newLog();
    const [one, two] = [newStream("one"), newStream("two")];
    const all = [readBatches(log.subscribe()), readBatches(log.subscribe())];
    const own = readBatches(log.subscribe({ sessionId: "one" }));
    await Promise.all([
      log.add(one, [progress("1"), progress("2")]),
      log.add(two, [progress("3")]),
      log.add(one, [ending()]),
    ]);
    await turns(3);
    log.close();
    const [first, second] = await Promise.all(all);
    expect(first!.map(({ gseqs }) => gseqs)).toEqual([[1, 2, 3, 4]]);
    expect(first![0]!.batch.isShared).toBe(true);
    expect(second![0]!.batch.envelopes).toBe(first![0]!.batch.envelopes);
    expect((await own).map(({ gseqs }) => gseqs)).toEqual([[1, 2], [4]]);
  });

  test("a batch that the reader has in part, or that the journal gave, is not shared", async () => {
    const log = newLog();
    const stream = newStream("s");
    await log.add(stream, [progress("1"), progress("2")]);
    const reading = readBatches(log.subscribe({ sessionId: "s", after: 0, afterSeq: 1 }));
    await turns(5);
    await log.add(stream, [progress("3"), ending(), progress("too late")]);
    const seen = await reading;
    expect(seen.map(({ gseqs, batch }) => [gseqs, batch.isShared])).toEqual([[[2], false], [[3, 4], false]]);
  });

  test("large batches are not joined", async () => {
    const log = newLog();
    const reading = readBatches(log.subscribe());
    const large = progress("x".repeat(300_000));
    await Promise.all(["one", "two", "three"].map((id) => log.add(newStream(id), [large])));
    await turns(3);
    log.close();
    expect((await reading).map(({ gseqs }) => gseqs)).toEqual([[1], [2], [3]]);
  });

  test("whatever the pace of writer and readers, each reader gets every event once and in order", async () => {
    const batch = fc.record({
      size: fc.integer({ min: 1, max: 40 }),
      bytes: fc.integer({ min: 0, max: 300 }),
      wait: fc.integer({ min: 0, max: 2 }),
    });
    const reader = fc.record({
      heldBytes: fc.integer({ min: 1, max: 40_000 }),
      pause: fc.integer({ min: 0, max: 1 }),
      from: fc.nat(),
      inBatches: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(batch, { minLength: 1, maxLength: 20 }),
        fc.array(reader, { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 4000 }),
        fc.integer({ min: 1, max: 50 }),
        async (batches, readers, page_bytes, page_events) => {
          const log = newLog({ page_bytes, page_events });
          const stream = newStream("s");
          const total = batches.reduce((sum, { size }) => sum + size, 0) + 1;
          const readings = readers.map(({ heldBytes, pause, from, inBatches }) => {
            const after = from % total;
            const subscription = log.subscribe({ after, sessionId: "s", heldBytes });
            const seen = inBatches
              ? readBatches(subscription, () => turns(pause)).then((all) => all.flatMap(({ gseqs }) => gseqs))
              : readAll(subscription, () => turns(pause));
            return { after, seen };
          });
          for (const { size, bytes, wait } of batches) {
            const entries = Array.from({ length: size }, () => progress("x".repeat(bytes)));
            const added = log.add(stream, entries);
            if (wait > 0) await added;
            await turns(wait);
          }
          await log.add(stream, [ending()]);
          for (const { after, seen } of readings) expect(await seen).toEqual(upTo(total).slice(after));
        },
      ),
      { numRuns: 60 },
    );
  });
});
