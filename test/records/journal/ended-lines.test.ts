import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { EndedLines } from "../../../core/records/journal/ended-lines.ts";
import type { Journal } from "../../../core/records/journal/journal.ts";
import { openJournal } from "../../../core/records/journal/open-journal.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { afterEveryTest } from "../../clean-up.ts";
import { EnvelopeSource } from "./journal-fixture.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEveryTest(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

type Changed = { path: string; lines?: { added: number; removed: number } }[] | null;

/** Writes sessions into a new journal, which have ended with these changes; undefined: one that runs. */
async function journalOf(sessions: Readonly<Record<string, Changed | undefined>>): Promise<Journal> {
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-lines-"));
  closing.push(() => rm(folder, { recursive: true, force: true }));
  const journal = await openJournal(join(folder, "journal.db"));
  closing.push(() => journal.close());
  const source = new EnvelopeSource();
  for (const [id, artifacts] of Object.entries(sessions)) {
    const envelopes = source.batch(id, 3, "said");
    envelopes[0]!.event = { type: "session_started", requested: { prompt: id }, labels: {} } as Envelope["event"];
    const result = { outcome: "completed", stop_reason: "end_turn", usage: {}, artifacts };
    if (artifacts !== undefined) envelopes[2]!.event = { type: "session_ended", result } as Envelope["event"];
    await journal.append({ session_id: id, envelopes });
  }
  return journal;
}

/** Counts the reads of a journal. */
function counted(journal: Journal): { journal: Pick<Journal, "read">; reads: string[] } {
  const reads: string[] = [];
  const read: Journal["read"] = (options) => (reads.push(options.sessionId!), journal.read(options));
  return { journal: { read }, reads };
}

test("the changed lines of a session are those of its last event, added up, as far as they are known", async () => {
  const made = await journalOf({
    edits: [{ path: "a", lines: { added: 10, removed: 2 } }, { path: "b", lines: { added: 2, removed: 0 } }, {
      path: "c",
    }],
    binary: [{ path: "d" }],
    clean: [],
    unknown: null,
    runs: undefined,
  });
  const { journal, reads } = counted(made);
  const lines = new EndedLines();
  const records = await made.sessions({ limit: 10 });
  expect(Object.fromEntries(await lines.of(journal, records))).toEqual({ edits: { added: 12, removed: 2 } });
  expect(reads.sort()).toEqual(["binary", "clean", "edits", "unknown"]);
  // What has ended does not change.
  expect((await lines.of(journal, records)).get("edits")).toEqual({ added: 12, removed: 2 });
  expect(reads).toHaveLength(4);
});

test("a list that is slow to read goes on without the rest, and the next one has more", async () => {
  const changed = [{ path: "a", lines: { added: 1, removed: 1 } }];
  const made = await journalOf({ one: changed, two: changed, three: changed });
  const lines = new EndedLines({ atMostMs: 0 });
  const records = await made.sessions({ limit: 10 });
  for (const known of [1, 2, 3, 3]) expect((await lines.of(made, records)).size).toBe(known);
});

test("the oldest that were read are forgotten beyond a number", async () => {
  const changed = [{ path: "a", lines: { added: 1, removed: 1 } }];
  const made = await journalOf({ one: changed, two: changed, three: changed });
  const { journal, reads } = counted(made);
  const lines = new EndedLines({ most: 2 });
  const records = await made.sessions({ limit: 10 });
  expect((await lines.of(journal, records)).size).toBe(3);
  await lines.of(journal, records.slice(1));
  expect(reads).toHaveLength(3);
  await lines.of(journal, records.slice(0, 1));
  expect(reads).toHaveLength(4);
});
