import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { chainKeyFile } from "../../../core/records/journal/chain-key.ts";
import { copyJournal } from "../../../core/records/journal/copy-journal.ts";
import { openJournal } from "../../../core/records/journal/open-journal.ts";
import { verifyJournal } from "../../../core/records/journal/verify-journal.ts";
import { EnvelopeSource, readAll } from "./journal-fixture.ts";

test("copyJournal takes a journal as it is at one moment, while a host appends", async () => {
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-copy-"));
  try {
    const [file, copy] = ["it's.db", "copy's.db"].map((name) => join(folder, name)) as [string, string];
    const journal = await openJournal(file);
    const source = new EnvelopeSource();
    for (let n = 0; n < 50; n++) {
      await journal.append({ session_id: "a", envelopes: source.batch("a", 20, "x".repeat(400)) });
    }
    let isCopied = false;
    const copying = copyJournal(file, copy).then(() => isCopied = true);
    let meanwhile = 0;
    for (; !isCopied; meanwhile++) {
      await journal.append({ session_id: "b", envelopes: source.batch("b", 5) });
      await nextTurn();
    }
    await copying;
    await copyFile(chainKeyFile(file), chainKeyFile(copy));
    expect(meanwhile).toBeGreaterThan(0);
    const { ok, events } = await verifyJournal(copy);
    expect(ok).toBe(true);
    const opened = await openJournal(copy);
    expect(await readAll(opened)).toEqual((await readAll(journal)).slice(0, events));
    expect(events).toBeGreaterThanOrEqual(1000);
    await opened.close();
    await journal.close();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
