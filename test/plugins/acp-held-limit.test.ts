import { expect, test } from "vitest";
import type { AdapterEvent, RateLimitEvent } from "../../plugin-sdk/events.ts";
import { HeldLimit } from "../../plugins/acp/held-limit.ts";

const limit: RateLimitEvent = { type: "rate_limit", message: "429 Too Many Requests", wait_ms: null };
const failed: AdapterEvent = { type: "error", code: "rate_limit", message: limit.message, recoverable: true };
const crashed: AdapterEvent = { ...failed, code: "crash" };

/** A held limit, with the end of its wait and what it told by itself. */
function makeHeld(printed = ""): { held: HeldLimit; wake: () => Promise<void>; told: AdapterEvent[] } {
  const told: AdapterEvent[] = [];
  let wake = (): void => {};
  const slept = new Promise<void>((resolve) => wake = resolve);
  const held = new HeldLimit({
    ctx: { sleep: () => slept },
    isPrinted: (text) => text === printed,
    tell: (events) => void told.push(...events),
  });
  return { held, told, wake: async () => (wake(), await new Promise((resolve) => setTimeout(resolve))) };
}

test("HeldLimit: a limit before the last word is told with it, unless that word is a limit too", () => {
  const [alone, answered] = [makeHeld().held, makeHeld().held];
  expect([alone.take(limit), alone.end([crashed]), alone.take(limit)]).toEqual([[], [limit, crashed], []]);
  expect([answered.take(limit), answered.end([failed]), answered.take(limit)]).toEqual([[], [failed], []]);
});

test("HeldLimit: a limit after the last word is told at once, unless that word is a limit too", () => {
  const [alone, answered] = [makeHeld().held, makeHeld().held];
  expect([alone.end([crashed]), alone.take(limit), alone.take(limit)]).toEqual([[crashed], [limit], []]);
  expect([answered.end([failed]), answered.take(limit)]).toEqual([[failed], []]);
});

test("HeldLimit: a limit that waited for a last word in vain is told once, and one that a tool printed never", async () => {
  const [{ held, wake, told }, copied] = [makeHeld(), makeHeld(limit.message)];
  expect([held.take(limit), held.take(limit), copied.held.take(limit)]).toEqual([[], [], []]);
  await Promise.all([wake(), copied.wake()]);
  expect([told, copied.told, held.end([crashed])]).toEqual([[limit], [], [crashed]]);
});
