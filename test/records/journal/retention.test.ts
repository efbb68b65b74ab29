import fc from "fast-check";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Journal } from "../../../core/records/journal/journal.ts";
import { createMemoryJournal } from "./memory-journal.ts";
import { applyRetention } from "../../../core/records/journal/retention.ts";
import { openJournal } from "../../../core/records/journal/open-journal.ts";
import { verifyJournal } from "../../../core/records/journal/verify-journal.ts";
import { openSqlite } from "../../../core/ground/platform/state/sqlite.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { ended, EnvelopeSource, readAll } from "./journal-fixture.ts";

let folder: string;
let files = 0;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "bulkhead-retention-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const forEver = { keep_ms: Number.MAX_SAFE_INTEGER, max_bytes: Number.MAX_SAFE_INTEGER };
const begin = Date.parse("2025-01-01T00:00:00.000Z");
const hour = 3_600_000;

/** Sessions that begin in their order; each ends an hour after the one before, the named ones never. */
async function fill(journal: Journal, { ids, running = [], data = "text" }: {
  ids: string[];
  running?: string[];
  data?: string;
}): Promise<Envelope[]> {
  const source = new EnvelopeSource(journal.lastGseq);
  const all: Envelope[] = [];
  const append = async (session_id: string, envelopes: Envelope[]) => {
    all.push(...envelopes);
    await journal.append({ session_id, envelopes });
  };
  for (const id of ids) await append(id, source.batch(id, 3, data));
  for (const [at, id] of ids.entries()) {
    if (running.includes(id)) continue;
    const ts = new Date(begin + at * hour).toISOString();
    await append(id, [{ ...source.next(id), ts, event: ended }]);
  }
  return all;
}

describe("applyRetention", () => {
  for (
    const [name, open] of [
      ["in a file", () => openJournal(join(folder, `${++files}.db`))],
      ["in memory", () => Promise.resolve(createMemoryJournal())],
    ] as const
  ) {
    it(`removes what ended too long ago, and never what runs: ${name}`, async () => {
      const journal = await open();
      await fill(journal, { ids: ["a", "b", "c", "d"], running: ["a"] });
      const limits = { ...forEver, keep_ms: 2 * hour };
      expect(await applyRetention(journal, { limits, now: begin + 3 * hour })).toBe(0);
      expect(await applyRetention(journal, { limits, now: begin + 4 * hour + 1 })).toBe(2);
      expect((await journal.sessions({ limit: 9 })).map(({ session_id }) => session_id)).toEqual(["d", "a"]);
      expect(await journal.session("b")).toMatchObject({ deleted: { by: "retention" } });
      await journal.close();
    });
  }

  it("removes the sessions that ended first until the rest fits", async () => {
    const file = join(folder, `${++files}.db`);
    const journal = await openJournal(file);
    await fill(journal, { ids: ["a", "b", "c", "d", "e"], running: ["b"], data: "x".repeat(50_000) });
    const before = await journal.usedBytes();
    expect(await applyRetention(journal, { limits: { ...forEver, max_bytes: before - 200_000 } })).toBe(2);
    expect((await journal.sessions({ limit: 9 })).map(({ session_id }) => session_id)).toEqual(["e", "d", "b"]);
    expect(await journal.usedBytes()).toBeLessThan(before - 200_000);
    await applyRetention(journal, { limits: { ...forEver, max_bytes: 1 } });
    expect((await journal.sessions({ limit: 9 })).map(({ session_id }) => session_id)).toEqual(["b"]);
    await journal.close();
    expect((await verifyJournal(file)).ok).toBe(true);
  });

  it("takes size from the plugin that uses more than its share, and never from another", async () => {
    const file = join(folder, `${++files}.db`);
    const journal = await openJournal(file);
    const add = async (id: string, adapter: string, { data, ends = true }: { data: string; ends?: boolean }) => {
      const source = new EnvelopeSource(journal.lastGseq);
      const of = (envelope: Envelope): Envelope => ({ ...envelope, adapter: { id: adapter, version: "1.0.0" } });
      const begun: Envelope["event"] = { type: "attempt_started", attempt: 1, adapter_id: adapter };
      const envelopes = [...source.batch(id, 3, data), { ...source.next(id), event: begun }].map(of);
      await journal.append({ session_id: id, envelopes });
      if (ends) await journal.append({ session_id: id, envelopes: [of({ ...source.next(id), event: ended })] });
    };
    for (const id of ["old1", "old2", "old3"]) await add(id, "quiet", { data: "x".repeat(20_000) });
    for (const id of ["big1", "big2", "big3"]) await add(id, "loud", { data: "x".repeat(100_000) });
    await add("big4", "loud", { data: "x".repeat(300_000), ends: false });
    const left = async () => (await journal.sessions({ limit: 20 })).map(({ session_id }) => session_id).sort();
    await applyRetention(journal, { limits: { ...forEver, max_bytes: 1_900_000 } });
    expect(await left()).toEqual(["big2", "big3", "big4", "old1", "old2", "old3"]);
    // What runs is never removed, and others do not pay for it.
    await applyRetention(journal, { limits: { ...forEver, max_bytes: 800_000 } });
    expect(await left()).toEqual(["big4", "old1", "old2", "old3"]);
    await journal.close();
    expect((await verifyJournal(file)).ok).toBe(true);
  });

  it("goes on with a deletion that the end of its process cut short", async () => {
    const file = join(folder, `${++files}.db`);
    let journal = await openJournal(file);
    await fill(journal, { ids: ["a", "b"] });
    await journal.close();
    const database = await openSqlite(file, { busyTimeoutMs: 1000 });
    database.exec("UPDATE session SET state = 2, deleted_at = 'then', deleted_by = 'client' WHERE session_id = 'a'");
    database.close();
    journal = await openJournal(file);
    await applyRetention(journal, { limits: forEver });
    expect((await readAll(journal)).map(({ session_id, event }) => `${session_id} ${event.type}`)).toEqual([
      ...["b output", "b output", "b output"],
      "a gap",
      "b session_ended",
    ]);
    await journal.close();
  });

  it("keeps the newest tombstones, up to their number", async () => {
    const journal = await openJournal(join(folder, `${++files}.db`), { limits: { tombstones: 2 } });
    await fill(journal, { ids: ["a", "b", "c", "d"] });
    await applyRetention(journal, { limits: { ...forEver, max_bytes: 1 } });
    await journal.sweep();
    expect(await journal.session("b")).toBeNull();
    expect((await readAll(journal)).map(({ session_id }) => session_id)).toEqual(["c", "d"]);
    await journal.close();
  });

  it("leaves every reader the suffix from its cursor on, or a gap where it was", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.constantFrom("a", "b", "c", "d", "e", "f"), { minLength: 1 }),
        fc.subarray(["a", "b", "c", "d", "e", "f"]),
        fc.nat({ max: 6 }),
        fc.nat({ max: 26 }),
        fc.integer({ min: 1, max: 9 }),
        async (ids, running, kept, after, limit) => {
          const journal = createMemoryJournal();
          const all = await fill(journal, { ids, running });
          const keep_ms = kept * hour;
          await applyRetention(journal, { limits: { ...forEver, keep_ms }, now: begin + ids.length * hour });
          const gone = new Set<string>();
          for (const id of ids) if ((await journal.session(id))?.deleted) gone.add(id);
          const isLast = new Set(ids.map((id) => all.findLast(({ session_id }) => session_id === id)));
          const expected = all.filter(({ gseq }) => gseq > after).flatMap((envelope): Partial<Envelope>[] => {
            if (!gone.has(envelope.session_id)) return [envelope];
            const { gseq, session_id, seq } = envelope;
            return isLast.has(envelope) ? [{ gseq, session_id, event: { type: "gap", from_seq: 1, to_seq: seq } }] : [];
          });
          expect(await readAll(journal, { after, limit })).toMatchObject(expected);
          for (const id of ids) {
            expect(await readAll(journal, { after, limit, sessionId: id }))
              .toMatchObject(expected.filter(({ session_id }) => session_id === id));
          }
          await journal.close();
        },
      ),
      { numRuns: 60 },
    );
  });
});
