import { describe, expect, test } from "vitest";
import { createMemoryJournal } from "../../records/journal/memory-journal.ts";
import type { JournalBatch } from "../../../core/records/journal/journal.ts";
import { type LogEntry, type LogJournal, MergedLog, type Stream } from "../../../core/sessions/session/merged-log.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";

function newStream(sessionId: string): Stream {
  return { sessionId, adapter: { id: "a", version: "1.0.0" }, attempt: 1, lastSeq: 0 };
}

const said: LogEntry = { source: "agent", event: { type: "progress", message: "x" } };

async function take(source: AsyncIterable<Envelope>, count: number): Promise<Envelope[]> {
  const taken: Envelope[] = [];
  for await (const envelope of source) if (taken.push(envelope) === count) break;
  return taken;
}

describe("MergedLog", () => {
  test("numbers each session from 1 and all of them by one rising number", async () => {
    const log = new MergedLog(createMemoryJournal());
    const [one, two] = [newStream("one"), newStream("two")];
    await Promise.all([log.add(one, [said, said]), log.add(two, [said]), log.add(one, [said])]);
    const seen = await take(log.subscribe({ after: 0 }), 4);
    expect(seen.map(({ session_id, seq, gseq }) => [session_id, seq, gseq])).toEqual([
      ["one", 1, 1],
      ["one", 2, 2],
      ["two", 1, 3],
      ["one", 3, 4],
    ]);
  });

  test("goes on where its journal ended", async () => {
    const journal = createMemoryJournal();
    await new MergedLog(journal).add(newStream("one"), [said, said]);
    const later = new MergedLog(journal);
    await later.add(newStream("two"), [said]);
    expect((await take(later.subscribe({ after: 2 }), 1))[0]).toMatchObject({ session_id: "two", seq: 1, gseq: 3 });
  });

  describe("when the journal cannot be written for a while", () => {
    /** A journal that cannot write what `refuses` says. */
    function faulty(refuses: (batch: JournalBatch) => boolean): { log: MergedLog; journal: LogJournal } {
      const journal = createMemoryJournal();
      const append = (batch: JournalBatch) =>
        refuses(batch) ? Promise.reject(new Error("The disk is full.")) : journal.append(batch);
      const log = new MergedLog({ lastGseq: 0, read: (options) => journal.read(options), append });
      return { log, journal };
    }

    test("hands on what was written beside what was not", async () => {
      const { log } = faulty(({ session_id }) => session_id === "two");
      const live = take(log.subscribe(), 2);
      const added = [log.add(newStream("one"), [said]), log.add(newStream("two"), [said])];
      expect((await Promise.allSettled(added)).map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
      await log.add(newStream("three"), [said]);
      expect((await live).map(({ session_id }) => session_id)).toEqual(["one", "three"]);
    });

    test("leaves no hole in a session, also where more of it waits already", async () => {
      let isFull = false;
      const { log, journal } = faulty(() => isFull);
      const stream = newStream("one");
      await log.add(stream, [said, said]);
      isFull = true;
      const lost = log.add(stream, [said, said]).catch(() => {
        isFull = false;
        return "lost";
      });
      const first = log.add(newStream("two"), [said]).catch(() => "lost");
      // Comes in while the journal is at it.
      const behind = new Promise<void>((resolve) => void setImmediate(resolve)).then(() => log.add(stream, [said]));
      expect(await Promise.all([lost, first, behind])).toEqual(["lost", "lost", undefined]);
      await log.add(stream, [said]);
      const written = await journal.read({ after: 0 });
      expect(written.map(({ session_id, seq }) => [session_id, seq])).toEqual(
        [1, 2, 3, 4].map((seq) => ["one", seq]),
      );
    });

    test("writes nothing of a session whose beginning is not there", async () => {
      let isFull = true;
      const { log, journal } = faulty(() => isFull);
      const stream = newStream("one");
      await expect(log.add(stream, [said])).rejects.toThrow("The disk is full.");
      isFull = false;
      await expect(log.add(stream, [said])).rejects.toThrow("The disk is full.");
      await log.add(newStream("two"), [said]);
      expect((await journal.read({ after: 0 })).map(({ session_id }) => session_id)).toEqual(["two"]);
    });
  });

  describe("when a session opens", () => {
    const opened: LogEntry = { source: "host", event: { type: "attempt_started", attempt: 1, adapter_id: "a" } };
    const nextTurn = () => new Promise<void>((resolve) => void setImmediate(resolve));
    /** Counts what becomes a transaction. */
    function counted(): { log: MergedLog; sizes: number[] } {
      const inner = createMemoryJournal();
      const sizes: number[] = [];
      const append = async (batch: JournalBatch) => {
        sizes.push(batch.envelopes.length);
        return await inner.append(batch);
      };
      const journal: LogJournal = {
        lastGseq: 0,
        read: (options) => inner.read(options),
        append,
      };
      return { log: new MergedLog(journal), sizes };
    }

    test("writes that together with what follows at once", async () => {
      const { log, sizes } = counted();
      const stream = newStream("one");
      const first = log.add(stream, [opened]);
      await nextTurn();
      await Promise.all([first, log.add(stream, [said])]);
      expect(sizes).toEqual([2]);
    });

    test("writes it after a moment when nothing follows, and at once when all is to be written", async () => {
      const { log, sizes } = counted();
      await log.add(newStream("one"), [opened]);
      expect(sizes).toEqual([1]);
      const second = log.add(newStream("two"), [opened]);
      await log.settled();
      expect(sizes).toEqual([1, 1]);
      await second;
    });

    test("lets nothing else wait for it", async () => {
      const { log, sizes } = counted();
      const waiting = log.add(newStream("one"), [opened]);
      await log.add(newStream("two"), [said]);
      expect(sizes).toEqual([1, 1]);
      await waiting;
      await log.add(newStream("two"), [said]);
      expect(sizes).toEqual([1, 1, 1]);
    });
  });

  test("says that the host made an event up, and only then", async () => {
    const log = new MergedLog(createMemoryJournal());
    await log.add(newStream("one"), [said, { ...said, source: "host", synthetic: true }]);
    const [own, made] = await take(log.subscribe({ after: 0 }), 2);
    expect(own).not.toHaveProperty("synthetic");
    expect(made).toMatchObject({ synthetic: true, source: "host" });
  });

  test("hands events to readers only after the journal has them", async () => {
    const inner = createMemoryJournal();
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const journal: LogJournal = {
      lastGseq: 0,
      read: (options) => inner.read(options),
      append: async (batch: JournalBatch) => {
        await held;
        return await inner.append(batch);
      },
    };
    const log = new MergedLog(journal);
    const seen: number[] = [];
    const reading = take(log.subscribe(), 1).then(() => seen.push(1));
    const added = log.add(newStream("one"), [said]);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(seen).toEqual([]);
    release();
    await Promise.all([added, reading]);
    expect(seen).toEqual([1]);
  });

  test("a journal that cannot be written rejects what was added, and the log goes on", async () => {
    const inner = createMemoryJournal();
    let broken = true;
    const journal: LogJournal = {
      lastGseq: 0,
      read: (options) => inner.read(options),
      append: (batch) => (broken ? Promise.reject(new Error("No disk.")) : inner.append(batch)),
    };
    const log = new MergedLog(journal);
    const reading = take(log.subscribe(), 1);
    await expect(log.add(newStream("one"), [said])).rejects.toThrow("No disk.");
    broken = false;
    await log.add(newStream("two"), [said]);
    await log.settled();
    expect((await reading)[0]).toMatchObject({ gseq: 2 });
  });

  test("adding nothing is done at once and takes no number", async () => {
    const log = new MergedLog(createMemoryJournal());
    const stream = newStream("one");
    await log.add(stream, []);
    expect(stream.lastSeq).toBe(0);
  });
});
