import process from "node:process";
import { describe, expect, test } from "vitest";
import { firstFault, useTestClock } from "./first-fault.ts";
import { agentKinds } from "./model-agent.ts";

/** Schedules for each kind of agent, and the seed of the first. */
const schedules = Number(process.env["BULKHEAD_TALK_MODEL_SCHEDULES"] ?? 60);
const firstSeed = Number(process.env["BULKHEAD_TALK_MODEL_SEED"] ?? 1);

useTestClock();

describe("a conversation, whatever clients, agents, crashes and kills do, and in any order", () => {
  test.each(agentKinds)("gives each message one outcome, shows none twice and keeps the order (%s)", async (kind) => {
    const { fault, outcomes } = await firstFault(kind, { from: firstSeed, most: schedules });
    expect(fault, fault ?? "").toBeNull();
    console.log(`${kind}: ${schedules} schedules, seed ${firstSeed}: ${JSON.stringify(outcomes)}`);
    // Else the schedules would show nothing of it.
    for (const outcome of ["new_turn", "moved", "withdrawn", "turn_failed", "host_restarted", "session_ended"]) {
      expect(outcomes[outcome], outcome).toBeGreaterThan(0);
    }
  }, 60_000 + schedules * 200);
});
