import { expect, test } from "vitest";
import { createMemoryJournal } from "./memory-journal.ts";
import { sessionPages } from "../../../core/records/journal/read-page.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { envelopesOf } from "../../doors/cli/fake-host.ts";

test("gives all events of one session and of no other, over several pages", async () => {
  const journal = createMemoryJournal({ limits: { page_events: 2 } });
  for (let batch = 0; batch < 3; batch++) {
    for (const [index, session_id] of ["a", "b"].entries()) {
      const envelopes = envelopesOf([{ type: "progress", message: `${batch}` }], { session: session_id })
        .map((envelope) => ({ ...envelope, seq: batch + 1, gseq: 2 * batch + index + 1 }));
      await journal.append({ session_id, envelopes });
    }
  }
  const read = async (sessionId: string) => {
    const pages: Envelope[][] = [];
    for await (const page of sessionPages(journal, sessionId)) pages.push(page);
    return pages;
  };
  const pages = await read("b");
  expect(pages.flat().map(({ session_id, seq }) => [session_id, seq])).toEqual([["b", 1], ["b", 2], ["b", 3]]);
  expect(pages.length).toBeGreaterThan(1);
  expect(await read("c")).toEqual([]);
});
