import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Deadlines } from "../../../core/sessions/session/deadlines.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

function deadlines(totalMs: number, idleMs: number, waits = () => false): {
  calls: string[];
  deadlines: Deadlines;
  begin: () => void;
} {
  const calls: string[] = [];
  const made = new Deadlines({ totalMs, onTotal: (ms) => calls.push(`total ${ms}`), waits });
  const begin = () => made.begin({ idleMs, onIdle: (ms) => calls.push(`idle ${ms}`) });
  return { calls, deadlines: made, begin };
}

describe("Deadlines", () => {
  test("signs of life move the idle deadline on and not the total one", () => {
    const { calls, deadlines: made, begin } = deadlines(1000, 100);
    begin();
    for (let ms = 0; ms < 950; ms += 50) {
      vi.advanceTimersByTime(50);
      made.heard();
    }
    expect(calls).toEqual([]);
    vi.advanceTimersByTime(50);
    expect(calls).toEqual(["total 1000"]);
    made.stop();
  });

  test("silence is told once, as long as it was allowed to be after the last sign of life", () => {
    const { calls, deadlines: made, begin } = deadlines(10_000, 100);
    begin();
    vi.advanceTimersByTime(70);
    made.heard();
    vi.advanceTimersByTime(99);
    expect(calls).toEqual([]);
    vi.advanceTimersByTime(2);
    expect(calls).toEqual(["idle 100"]);
    vi.advanceTimersByTime(1000);
    expect(calls).toEqual(["idle 100"]);
    made.stop();
  });

  test("the total deadline stands still for the time that does not count", () => {
    const calls: string[] = [];
    let [waitedMs, since] = [0, performance.now() + 600];
    const made = new Deadlines({
      totalMs: 1000,
      onTotal: (ms) => calls.push(`total ${ms}`),
      waits: () => since > 0,
      waitedMs: () => waitedMs + (since > 0 ? performance.now() - since : 0),
    });
    made.begin({ idleMs: 100_000, onIdle: () => calls.push("idle") });
    vi.advanceTimersByTime(60_600);
    [waitedMs, since] = [60_000, 0];
    expect([calls, Math.round(made.leftMs)]).toEqual([[], 400]);
    vi.advanceTimersByTime(399);
    expect(calls).toEqual([]);
    // A deadline that stood still is looked at again within a second.
    vi.advanceTimersByTime(1001);
    expect(calls).toEqual(["total 1000"]);
    made.stop();
  });

  test("after stop() nothing is told and no timer is left", () => {
    const { calls, deadlines: made, begin } = deadlines(1000, 100);
    begin();
    made.stop();
    vi.advanceTimersByTime(5000);
    expect(calls).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("the total deadline runs through the rest between attempts, and the idle one does not", () => {
    const { calls, deadlines: made, begin } = deadlines(1000, 100);
    expect(made.leftMs).toBe(1000);
    begin();
    vi.advanceTimersByTime(50);
    made.rest();
    vi.advanceTimersByTime(500);
    expect([calls, made.leftMs]).toEqual([[], 450]);
    begin();
    vi.advanceTimersByTime(101);
    expect(calls).toEqual(["idle 100"]);
    vi.advanceTimersByTime(400);
    expect(calls).toEqual(["idle 100", "total 1000"]);
    made.stop();
  });

  test("an agent that waits for an answer is not idle", () => {
    let waiting = true;
    const { calls, deadlines: made, begin } = deadlines(10_000, 100, () => waiting);
    begin();
    vi.advanceTimersByTime(1000);
    expect(calls).toEqual([]);
    waiting = false;
    vi.advanceTimersByTime(201);
    expect(calls).toEqual(["idle 100"]);
    made.stop();
  });

  test("a deadline longer than a timer can be does not pass at once", () => {
    const { calls, deadlines: made, begin } = deadlines(Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
    begin();
    vi.advanceTimersByTime(60_000);
    expect(calls).toEqual([]);
    made.stop();
  });
});
