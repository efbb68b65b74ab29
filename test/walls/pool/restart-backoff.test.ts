import { describe, expect, test } from "vitest";
import { RestartBackoff } from "../../../core/walls/pool/restart-backoff.ts";

const limits = { restart_backoff_ms: 250, restart_backoff_max_ms: 3000, restart_healthy_ms: 60_000 };

describe("RestartBackoff", () => {
  test("waits not at all after the first crash, then ever longer up to the most", () => {
    const backoff = new RestartBackoff(limits);
    const waits: number[] = [backoff.waitMs(0)];
    for (let now = 0; waits.length < 9; now += 100) {
      backoff.crashed(now);
      waits.push(backoff.waitMs(now));
    }
    expect(waits).toEqual([0, 0, 250, 500, 1000, 2000, 3000, 3000, 3000]);
  });

  test("counts from the crash on", () => {
    const backoff = new RestartBackoff(limits);
    for (let times = 0; times < 3; times++) backoff.crashed(1000);
    expect([1000, 1200, 1499, 1500, 9999].map((now) => backoff.waitMs(now))).toEqual([500, 300, 1, 0, 0]);
  });

  test("starts over after a time without a crash, and when it is told to forget", () => {
    const backoff = new RestartBackoff(limits);
    for (const now of [0, 1, 2]) backoff.crashed(now);
    backoff.crashed(60_002);
    expect(backoff.waitMs(60_002)).toBe(0);
    backoff.crashed(60_003);
    expect(backoff.waitMs(60_003)).toBe(250);
    backoff.forget();
    expect(backoff.waitMs(60_003)).toBe(0);
    backoff.crashed(60_004);
    expect(backoff.waitMs(60_004)).toBe(0);
  });

  test("stays at the most however often it crashes", () => {
    const backoff = new RestartBackoff(limits);
    for (let times = 0; times < 5000; times++) backoff.crashed(0);
    expect(backoff.waitMs(0)).toBe(3000);
  });
});
