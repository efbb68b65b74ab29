import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { journalSyncs } from "../../../core/ground/config/journal-sync.ts";
import { openJournalDatabase } from "../../../core/records/journal/journal-database.ts";
import { defaultJournalLimits } from "../../../core/records/journal/journal-limits.ts";
import { readNumber } from "../../../core/records/journal/journal-schema.ts";
import { openJournal } from "../../../core/records/journal/open-journal.ts";
import { EnvelopeSource, readAll } from "./journal-fixture.ts";

test.each(journalSyncs)("no commit waits for the disk on the host's thread, with sync: %s", async (sync) => {
  const folder = mkdtempSync(join(tmpdir(), "bulkhead-journal-"));
  const file = join(folder, "journal.db");
  const database = await openJournalDatabase({ file, limits: defaultJournalLimits, key: new Uint8Array(32), sync });
  // 1: the next checkpoint's sync does, on another thread.
  expect(readNumber(database, "PRAGMA synchronous", "synchronous")).toBe(1);
  database.close();
  rmSync(folder, { recursive: true });
});

test("a journal that syncs every commit keeps what is appended, and is opened without it later", async () => {
  const folder = mkdtempSync(join(tmpdir(), "bulkhead-journal-"));
  const file = join(folder, "journal.db");
  const source = new EnvelopeSource();
  for (const sync of ["full", "normal"] as const) {
    const journal = await openJournal(file, { sync });
    await Promise.all(["a", "b"].map((id) => journal.append({ session_id: id, envelopes: source.batch(id, 3) })));
    await journal.close();
  }
  const journal = await openJournal(file);
  expect(await readAll(journal)).toHaveLength(12);
  await journal.close();
  rmSync(folder, { recursive: true });
});
