import { expect, test } from "vitest";
import { densityOf } from "../../../../../core/doors/console/page/session/activity.ts";

test("densityOf draws a long silence as one, and the event that ends it at its time", () => {
  const points = [{ seq: 1, at: 0 }, { seq: 2, at: 10 }, { seq: 3, at: 1000 }];
  expect(densityOf(points, { from: 0, to: 1000, count: 5 })).toEqual([2, 0, 0, 0, 1]);
  // Of the events of a long session some are known: the few between two of them are no sign of life in each part.
  const sparse = [{ seq: 1, at: 0 }, { seq: 4, at: 1000 }];
  expect(densityOf(sparse, { from: 0, to: 1000, count: 5 })).toEqual([3, 0, 0, 0, 1]);
});

test("densityOf takes events that it does not know to be equally far apart, and adds up to all of them", () => {
  const bars = densityOf([{ seq: 1, at: 0 }, { seq: 101, at: 1000 }], { from: 0, to: 1000, count: 4 });
  expect(bars.every((bar) => bar > 20)).toBe(true);
  expect(bars.reduce((sum, bar) => sum + bar, 0)).toBeCloseTo(101);
});
