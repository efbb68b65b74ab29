import process from "node:process";
import { describe, expect, test } from "vitest";
import { Mailbox } from "../../../core/sessions/session/mailbox.ts";
import { type AgentKind, agentKinds, runSchedule } from "./mailbox-model.ts";

/** Schedules for each kind of agent, half of them without crashes and kills, and the seed of the first. */
const schedules = Number(process.env["BULKHEAD_MAILBOX_SCHEDULES"] ?? 300);
const firstSeed = Number(process.env["BULKHEAD_MAILBOX_SEED"] ?? 1);

/** The first schedule that breaks a rule. */
function firstFault(kind: AgentKind, { most, make }: { most: number; make?: () => Mailbox }): string | null {
  for (let seed = firstSeed; seed < firstSeed + most; seed++) {
    const { faults } = runSchedule({ seed, kind, calm: seed % 2 === 0, make });
    if (faults.length > 0) return `seed ${seed}: ${faults.join("; ")}`;
  }
  return null;
}

describe("Mailbox in any order of clients, adapters, crashes and kills", () => {
  test.each(agentKinds)("has one outcome for each message, shows none twice and keeps the order: %s", (kind) => {
    const counts: Record<string, number> = {};
    for (let seed = firstSeed; seed < firstSeed + schedules; seed++) {
      const { faults, outcomes } = runSchedule({ seed, kind, calm: seed % 2 === 0 });
      expect(faults, `seed ${seed}`).toEqual([]);
      for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
    }
    console.log(kind, counts);
  });
});
