import { benchHost } from "./bench-host.ts";
import { aimed, type Figure, quantile } from "./measure.ts";

const heartbeat_interval_ms = 50;
const heartbeat_timeout_ms = 200;
const slackMs = 15;

/** An adapter that spins without end: until the host has given its verdict, and until the session's result is there. */
export async function spinning({ quick }: { quick: boolean }): Promise<Figure[]> {
  const rounds = quick ? 2 : 6;
  const figures: Figure[] = [];
  for (const isolation of ["thread", "process"] as const) {
    const limits = { heartbeat_interval_ms, heartbeat_timeout_ms, quarantine_crashes: 100 };
    await using bench = await benchHost(isolation, { limits });
    const verdicts: number[] = [];
    const ends: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const session = await bench.start("spin");
      let spinsAt = NaN;
      for await (const { event } of session.events()) {
        if (event.type === "progress") spinsAt = Number(event.message);
        if (event.type === "worker") verdicts.push(Date.now() - spinsAt);
        if (event.type === "session_ended") ends.push(Date.now() - spinsAt);
      }
      // The next session needs a new worker: the one before is dead.
      await (await bench.start("single 5")).result();
    }
    const deadline = heartbeat_timeout_ms + heartbeat_interval_ms;
    const dead = quantile(ends, 0.5);
    figures.push(
      { name: `spinning.${isolation}.verdict`, value: quantile(verdicts, 0.5), unit: "ms" },
      aimed({ name: `spinning.${isolation}.dead`, value: dead, unit: "ms" }, { most: deadline + slackMs }),
    );
  }
  return figures;
}
