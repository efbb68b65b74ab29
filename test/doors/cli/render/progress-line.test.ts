import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createPaint } from "../../../../core/doors/cli/render/paint.ts";
import { ProgressLine } from "../../../../core/doors/cli/render/progress-line.ts";

let ticks: (() => void)[] = [];
vi.mock("../../../../core/ground/platform/engine/background-timer.ts", () => ({
  startBackgroundTimer: (callback: () => void) => {
    ticks.push(callback);
    return () => void (ticks = ticks.filter((one) => one !== callback));
  },
}));

beforeEach(() => {
  ticks = [];
});
afterEach(() => expect(ticks).toEqual([]));

function tick(): void {
  for (const callback of ticks.splice(0)) callback();
}

function line({ isAsking = (): boolean => false } = {}) {
  const clock = { now: 0 };
  const written: string[] = [];
  const progress = new ProgressLine({
    write: (text) => written.push(text),
    paint: createPaint(false),
    isAsking,
    now: () => clock.now,
  });
  return { progress, clock, written };
}

const erase = "\r\u001b[K";

test("after a second of silence the line says for how long it runs, and gives way to what is written", () => {
  const { progress, clock, written } = line();
  expect(written).toEqual([]);
  progress.count({ type: "session_started" });
  clock.now = 1000;
  tick();
  expect(written.splice(0)).toEqual([`${erase} … loading the plugin · 1.0 s · 1 event`]);
  progress.count({ type: "queued" });
  tick();
  expect(written.splice(0)).toEqual([`${erase} … waiting for its turn · 1.0 s · 2 events`]);
  progress.count({ type: "attempt_started" });
  progress.count({ type: "output" });
  clock.now = 2000;
  tick();
  expect(written.splice(0)).toEqual([`${erase} … running · 2.0 s · 4 events`]);
  progress.giveWay({ ends: "line" });
  expect(written.splice(0)).toEqual([erase]);
  progress.giveWay({ ends: "line" });
  expect(written).toEqual([]);
  progress.count({ type: "completed" });
  tick();
  expect(written).toEqual([`${erase} … looking which files changed · 2.0 s · 5 events`]);
  progress.close();
});

test("the line is not drawn into the middle of a text, nor over a question", () => {
  let asking = true;
  const { progress, written } = line({ isAsking: () => asking });
  tick();
  expect(written).toEqual([]);
  asking = false;
  progress.giveWay({ ends: "middle" });
  tick();
  expect(written).toEqual([]);
  progress.giveWay({ ends: "line" });
  tick();
  expect(written).toHaveLength(1);
  progress.close();
  expect(written.at(-1)).toBe(erase);
});
