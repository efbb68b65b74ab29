import { expect, test } from "vitest";
import { ranAt, stripBegin, stripOf, stripScales } from "../../../../../core/doors/console/page/history/strip-parts.ts";

const now = new Date(2026, 10, 29, 12, 30);
const hour = 3_600_000;
/** A session that ran between two hours of days before or after this one's begin. */
const ran = (from: number, to: number | null) => {
  const begin = new Date(2026, 10, 29).getTime();
  const at = (hours: number) => new Date(begin + hours * hour).toISOString();
  return { started_at: at(from), ended_at: to === null ? null : at(to) };
};

test("stripOf counts the most that ran at once in each part, from midnight to midnight", () => {
  const scale = stripScales["1 day"]!;
  const strip = stripOf([ran(1, 2.1), ran(1.5, 3), ran(1.55, 1.6), ran(-30, 0.2), ran(12, null)], scale, now);
  expect(strip.counts).toHaveLength(96);
  expect(strip.counts.slice(0, 14)).toEqual([1, 0, 0, 0, 1, 1, 3, 2, 2, 1, 1, 1, 1, 0]);
  // What still runs, runs until now.
  expect(strip.counts.slice(47, 52)).toEqual([0, 1, 1, 1, 0]);
  expect(strip.from).toBe(stripBegin(scale, now).getTime());
});

test("stripOf has each local day where it begins, over a change of the clock", () => {
  const { days, counts } = stripOf([], stripScales["7 days"]!, new Date(2026, 9, 28, 9));
  expect(days.map(({ name }) => name.slice(0, 3))).toEqual(["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]);
  expect(days[0]!.at).toBe(0);
  expect(counts.length).toBeGreaterThanOrEqual(168);
});

test("ranAt is about the whole part", () => {
  const begin = new Date(2026, 10, 29).getTime();
  expect([0, 1, 2, 3].map((at) => ranAt(ran(1.2, 2.5), begin + at * hour, hour))).toEqual([false, true, true, false]);
  expect(ranAt(ran(1, null), begin + 9 * hour, hour)).toBe(true);
});
