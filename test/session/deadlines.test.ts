import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Deadlines } from "../../core/session/deadlines.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

function deadlines(totalMs: number, idleMs: number): { calls: string[]; deadlines: Deadlines } {
  const calls: string[] = [];
  const made = new Deadlines({
    totalMs,
    idleMs,
    onTotal: (ms) => calls.push(`total ${ms}`),
    onIdle: (ms) => calls.push(`idle ${ms}`),
  });
  return { calls, deadlines: made };
}

describe("Deadlines", () => {
  test("signs of life move the idle deadline on and not the total one", () => {
    const { calls, deadlines: made } = deadlines(1000, 100);
    made.start();
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
    const { calls, deadlines: made } = deadlines(10_000, 100);
    made.start();
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

  test("after stop() nothing is told and no timer is left", () => {
    const { calls, deadlines: made } = deadlines(1000, 100);
    made.start();
    made.stop();
    vi.advanceTimersByTime(5000);
    expect(calls).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a deadline longer than a timer can be does not pass at once", () => {
    const { calls, deadlines: made } = deadlines(Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
    made.start();
    vi.advanceTimersByTime(60_000);
    expect(calls).toEqual([]);
    made.stop();
  });
});
