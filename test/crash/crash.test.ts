import process from "node:process";
import { afterAll, expect, test } from "vitest";
import { closeLane, type Delays, type Lane, openLane } from "./lane.ts";
import { randomFrom } from "./random.ts";
import { moments, playEnd, playRound, type Round } from "./rounds.ts";

/** Rounds of all lanes together. */
const rounds = Number(process.env["BULKHEAD_CRASH_ROUNDS"] ?? 200);
const laneCount = 3;
const seed = Number(process.env["BULKHEAD_CRASH_SEED"] ?? Math.floor(Math.random() * 2 ** 31));

const lanes: Lane[] = [];
afterAll(() => Promise.all(lanes.map(closeLane)));

test("a daemon that is killed at any moment loses no event that a client was shown, and leaves no process", async () => {
  console.log(`crash test: ${rounds} rounds, BULKHEAD_CRASH_SEED=${seed}`);
  const began = performance.now();
  const played: Round[] = [];
  const faults: string[] = [];
  let slowest = 0;
  const atMost: Delays = { startMs: 150, migrationMs: 150 };
  await Promise.all(Array.from({ length: laneCount }, async (_, number) => {
    const lane = await openLane(number, atMost);
    lanes.push(lane);
    const random = randomFrom(seed + number);
    for (let at = number; at < rounds; at += laneCount) {
      const moment = moments[Math.floor(at / laneCount) % moments.length]!;
      const round = await playRound(lane, moment, random);
      played.push(round);
      slowest = Math.max(slowest, lane.bootMs + lane.openMs);
      faults.push(...round.faults.map((fault) => `round ${at}, killed at ${moment}: ${fault}`));
      if (faults.length > 0) return;
    }
    faults.push(...(await playEnd(lane)).map((fault) => `the end of lane ${number}: ${fault}`));
  }));
  expect(faults).toEqual([]);
  const table = moments.map((moment) => {
    const of = played.filter((round) => round.moment === moment);
    const shown = of.reduce((sum, round) => sum + round.shown, 0);
    const [within, early] = [true, null].map((what) => of.filter((round) => round.within === what).length);
    return `${moment}: ${of.length} rounds, ${within} within, ${early} before, ${shown} events shown`;
  });
  console.log(
    `${table.join("\n")}\nkilled at most ${Math.round(atMost.startMs)} ms into a start, ${
      Math.round(atMost.migrationMs)
    } ms into a migration; slowest start ${Math.round(slowest)} ms, all in ${
      Math.round((performance.now() - began) / 1000)
    } s`,
  );
  expect(played).toHaveLength(rounds);
  for (const moment of moments) expect(played.some((round) => round.moment === moment)).toBe(true);
  for (const phase of ["start", "migration"]) {
    const of = played.filter(({ moment, within }) => moment === phase && within !== null);
    // What is killed too late says nothing of the phase.
    expect(of.filter(({ within }) => within).length, phase).toBeGreaterThan(of.length / 3);
  }
  // Else nothing could have been lost.
  expect(played.filter(({ shown }) => shown > 0).length).toBeGreaterThan(rounds / 3);
});
