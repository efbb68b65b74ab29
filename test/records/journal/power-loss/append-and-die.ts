import { openSync, writeSync } from "node:fs";
import process from "node:process";
import type { JournalSync } from "../../../../core/ground/config/journal-sync.ts";
import { openJournal } from "../../../../core/records/journal/open-journal.ts";
import { EnvelopeSource } from "../journal-fixture.ts";

// Appends to a journal from several sessions at once, writes down the numbers of each append once it is acknowledged or read,
// and ends without closing it. Small limits have its log start over meanwhile.
const [folder = "", sync = "full", rounds = "30"] = process.argv.slice(2);
const journal = await openJournal(`${folder}/journal.db`, {
  sync: sync as JournalSync,
  limits: sync === "full" ? { checkpoint_bytes: 5_000, checkpoint_interval_ms: 20 } : {},
});
const source = new EnvelopeSource(journal.lastGseq);
const acknowledged = openSync(`${folder}/acknowledged`, "a");
const note = (first: number, last: number) => writeSync(acknowledged, `${first} ${last}\n`);
for (let round = 0; round < Number(rounds); round++) {
  await Promise.all(["a", "b", "c"].map(async (id) => {
    const envelopes = source.batch(id, 1 + round % 7, "word ".repeat(100));
    const appended = journal.append({ session_id: id, envelopes });
    // A reader meets events that are not acknowledged yet.
    for (const { gseq } of await journal.read({ after: envelopes[0]!.gseq - 1 })) note(gseq, gseq);
    await appended;
    note(envelopes[0]!.gseq, envelopes.at(-1)!.gseq);
  }));
}
process.kill(process.pid, "SIGKILL");
