import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { closeInSteps, type CloseStep } from "../../../core/sessions/host/close-host.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

const never = () => new Promise(() => {});

/** Runs the steps; gives how long it took and what was told. */
async function close(steps: readonly CloseStep[]): Promise<{ ms: number; told: string[] }> {
  const told: string[] = [];
  const began = performance.now();
  let over = false;
  void closeInSteps(steps, (message) => void told.push(message)).then(() => (over = true));
  for (let step = 0; !over && step < 1000; step++) await vi.advanceTimersByTimeAsync(100);
  return { ms: performance.now() - began, told };
}

test("a step that is late is left behind, one that fails is passed over, and both are told", async () => {
  const done = vi.fn(() => Promise.resolve());
  const { told } = await close([
    { name: "waiting", act: never, ms: 300 },
    { name: "failing", act: () => Promise.reject(new Error("No.")), ms: 300 },
    { name: "ending", act: done, ms: 300 },
  ]);
  expect(told).toEqual([
    "Closing the host: waiting took longer than 300 ms and was left behind.",
    "Closing the host: failing failed: No.",
  ]);
  expect(done).toHaveBeenCalledOnce();
});

test("all of it takes thirty seconds at most, and each step is begun", async () => {
  const last = vi.fn(never);
  const { ms, told } = await close([
    { name: "one", act: never, ms: 20_000 },
    { name: "two", act: never, ms: 20_000 },
    { name: "three", act: last, ms: 20_000 },
  ]);
  expect(ms).toBeGreaterThanOrEqual(30_000);
  expect(ms).toBeLessThan(30_500);
  expect(last).toHaveBeenCalledOnce();
  expect(told).toHaveLength(3);
});
