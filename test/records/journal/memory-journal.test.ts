import { describe, expect, it } from "vitest";
import { createMemoryJournal } from "./memory-journal.ts";
import { EnvelopeSource, readAll } from "./journal-fixture.ts";
import { testJournal } from "./journal-suite.ts";

describe("createMemoryJournal", () => {
  testJournal((limits = {}) => Promise.resolve(createMemoryJournal({ limits })));

  it("drops the oldest batches beyond its limit, never the newest", async () => {
    const journal = createMemoryJournal({ limits: { memory_bytes: 1000 } });
    const source = new EnvelopeSource();
    for (let count = 0; count < 50; count++) {
      await journal.append({ session_id: "a", envelopes: source.batch("a", 1, "x".repeat(200)) });
    }
    const held = (await readAll(journal)).map(({ gseq }) => gseq);
    expect(held).toEqual([49, 50]);
    await journal.append({ session_id: "a", envelopes: source.batch("a", 1, "x".repeat(5000)) });
    expect((await readAll(journal)).map(({ gseq }) => gseq)).toEqual([51]);
    expect(journal.lastGseq).toBe(51);
  });
});
