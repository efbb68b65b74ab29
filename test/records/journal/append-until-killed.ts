import process from "node:process";
import { openJournal } from "../../../core/records/journal/open-journal.ts";
import { EnvelopeSource } from "./journal-fixture.ts";

// Appends until it is killed, and prints the last number of each append once it is acknowledged.
const journal = await openJournal(process.argv[2] ?? "", {
  limits: { checkpoint_bytes: 20_000, checkpoint_interval_ms: 5 },
});
const source = new EnvelopeSource(journal.lastGseq);
for (let round = 0;; round++) {
  await Promise.all(["a", "b", "c"].map(async (id) => {
    const envelopes = source.batch(id, 1 + round % 40);
    await journal.append({ session_id: id, envelopes });
    process.stdout.write(`${envelopes.at(-1)?.gseq}\n`);
  }));
}
