import { afterEach, expect, test } from "vitest";
import { Heartbeat } from "../../../core/walls/pool/heartbeat.ts";

const running: Heartbeat[] = [];
const passing = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

afterEach(() => running.splice(0).forEach((heartbeat) => heartbeat.stop()));

/** Starts pings every 20 ms with 100 ms for an answer. */
function start(parts: { onPing?: (n: number) => void; heldMs?: () => number } = {}) {
  const silences: number[] = [];
  const heartbeat = new Heartbeat({
    intervalMs: 20,
    timeoutMs: 100,
    heldMs: parts.heldMs ?? (() => 0),
    onBeat: () => {},
    ping: (n) => parts.onPing?.(n),
    onSilence: () => silences.push(performance.now()),
  });
  running.push(heartbeat);
  heartbeat.start();
  return { heartbeat, silences };
}

test("a worker that never answers is noticed", async () => {
  const { silences } = start();
  await expect.poll(() => silences.length, { timeout: 10_000 }).toBe(1);
});

test("a worker that answers is not", async () => {
  const { heartbeat, silences } = start({ onPing: (n) => void passing(30).then(() => heartbeat.take(n)) });
  await passing(400);
  expect(silences).toEqual([]);
});

test("a worker is not blamed for the time in which the host's loop stood still", async () => {
  const { heartbeat, silences } = start();
  await passing(30);
  const until = performance.now() + 400;
  while (performance.now() < until);
  await passing(60);
  expect(silences).toEqual([]);
  heartbeat.take(1);
  await passing(60);
  expect(silences).toEqual([]);
});

test("nor for the time in which its messages were held back", async () => {
  let heldMs = 0;
  const { silences } = start({ heldMs: () => heldMs });
  await passing(30);
  heldMs = 300;
  await passing(250);
  expect(silences).toEqual([]);
  await expect.poll(() => silences.length, { timeout: 10_000 }).toBe(1);
});
