import { benchHost } from "./bench-host.ts";
import { aimed, type Figure, residentMb, timed } from "./measure.ts";

/** Sessions one after another and many at once through one plugin: what they cost and what they leave in memory. */
export async function manySessions({ quick }: { quick: boolean }): Promise<Figure[]> {
  const [inTurn, atOnce] = quick ? [200, 50] : [1000, 200];
  const figures: Figure[] = [];
  for (const isolation of ["thread", "process"] as const) {
    await using bench = await benchHost(isolation);
    const session = async () => {
      const { outcome } = await (await bench.start("single 5")).result();
      if (outcome !== "completed") throw new Error(`A session ended as ${outcome}.`);
    };
    // What is loaded and compiled once is no growth.
    for (let n = 0; n < 100; n++) await session();
    const before = residentMb();
    const turns = await timed(async () => {
      for (let n = 0; n < inTurn; n++) await session();
    });
    const after = residentMb();
    const together = await timed(() => Promise.all(Array.from({ length: atOnce }, session)));
    const name = `many_sessions.${isolation}`;
    figures.push(
      { name: `${name}.in_turn`, value: turns / inTurn, unit: "ms" },
      { name: `${name}.at_once`, value: together / atOnce, unit: "ms" },
      { name: `${name}.rss_before`, value: before, unit: "mb" },
      { name: `${name}.rss_after`, value: after, unit: "mb" },
      { name: `${name}.rss_after_at_once`, value: residentMb(), unit: "mb" },
      aimed({ name: `${name}.rss_growth`, value: after / before, unit: "ratio" }, { most: 1.2 }),
    );
  }
  return figures;
}
