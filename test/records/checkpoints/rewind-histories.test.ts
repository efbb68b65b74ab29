import process from "node:process";
import { expect, test } from "vitest";
import { RewindHistory } from "./rewind-history.ts";

/** Histories of a run, and the seed of the first one. */
const histories = Number(process.env["BULKHEAD_REWIND_HISTORIES"] ?? 2);
const firstSeed = Number(process.env["BULKHEAD_REWIND_SEED"] ?? 1);

for (let seed = firstSeed; seed < firstSeed + histories; seed++) {
  test(`a rewind takes back the agent's work and nothing else: ${seed}`, { timeout: 120_000 }, async () => {
    const history = new RewindHistory({ seed, moreFiles: seed % 250 === 249 ? 20_000 : 0 });
    try {
      await history.run(4);
      expect(history.counts.rewinds + history.counts.refused).toBeGreaterThan(0);
    } finally {
      await history.end();
    }
  });
}
