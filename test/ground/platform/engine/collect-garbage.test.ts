import process from "node:process";
import { expect, test } from "vitest";
import { collectGarbage, collectGarbageOnce } from "../../../../core/ground/platform/engine/collect-garbage.ts";

test.each([
  ["collectGarbage", collectGarbage],
  ["collectGarbageOnce", collectGarbageOnce],
])("%s frees what nobody holds any more, whatever the process was started with", (_, collect) => {
  let hoard: object[] | null = Array.from({ length: 1_000_000 }, (_, index) => ({ index }));
  const full = process.memoryUsage().heapUsed;
  expect(hoard).toHaveLength(1_000_000);
  hoard = null;
  expect(collect()).not.toBe(false);
  expect(full - process.memoryUsage().heapUsed).toBeGreaterThan(20 * 1024 * 1024);
});
