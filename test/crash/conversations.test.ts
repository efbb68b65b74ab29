import process from "node:process";
import { afterAll, expect, test } from "vitest";
import { randomFrom } from "./random.ts";
import { closeTalkLane, openTalkLane, playTalks, type TalkLane, type TalkRound } from "./talk-round.ts";

/** Schedules of all lanes together; seeds are consecutive numbers from this one on. */
const schedules = Number(process.env["BULKHEAD_TALK_SCHEDULES"] ?? 20);
const firstSeed = Number(process.env["BULKHEAD_TALK_SEED"] ?? 1);
const laneCount = 2;
/** Conversations of one daemon at a time. */
const together = 5;

const lanes: TalkLane[] = [];
afterAll(() => Promise.all(lanes.map(closeTalkLane)));

const timeout = 60_000 + 3000 * schedules;

test("each accepted message has one outcome and is seen once at most, whatever is killed", { timeout }, async () => {
  console.log(`conversations: ${schedules} schedules, BULKHEAD_TALK_SEED=${firstSeed}`);
  const began = performance.now();
  const faults: string[] = [];
  const told: Record<string, number> = {};
  const kills: TalkRound["kills"] = {};
  const all = Array.from({ length: schedules }, (_, at) => firstSeed + at);
  const rounds = Array.from({ length: Math.ceil(schedules / together) }, () => all.splice(0, together));
  await Promise.all(Array.from({ length: laneCount }, async (_, number) => {
    const lane = await openTalkLane(number);
    lanes.push(lane);
    for (let seeds = rounds.shift(); seeds !== undefined; seeds = rounds.shift()) {
      const round = await playTalks(lane, seeds, randomFrom);
      faults.push(...round.faults);
      add(kills, round.kills);
      add(told, round.told);
    }
  }));
  console.log(
    `${JSON.stringify(told)}, killed ${JSON.stringify(kills)}, ${Math.round((performance.now() - began) / 1000)} s`,
  );
  // A CI shows no more than the message of a failure.
  expect(faults, JSON.stringify(faults, null, 1)).toEqual([]);
  // Else nothing could have been lost.
  expect(Object.values(kills).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(schedules / 10);
  for (const victim of schedules < 100 ? [] : ["agent", "warden", "worker", "host", "host in order"] as const) {
    expect(kills[victim] ?? 0, victim).toBeGreaterThan(0);
  }
  expect(told["delivered"]).toBeGreaterThan(schedules);
});

function add(sums: Record<string, number>, counts: Record<string, number>): void {
  for (const [name, count] of Object.entries(counts)) sums[name] = (sums[name] ?? 0) + count;
}
