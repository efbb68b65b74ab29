import { expect, it, vi } from "vitest";
import process from "node:process";
import { isAlive } from "../../../core/records/workspace/holder.ts";

// So it is on a runtime whose permissions keep processes from being looked at.
vi.mock(
  "../../../core/ground/platform/processes/process-rows.ts",
  () => ({ processStart: () => null, readRow: () => null }),
);

it("isAlive takes a process whose start cannot be told for the one that holds: better wait for a stranger", () => {
  expect(isAlive({ pid: process.pid, start: "12345" })).toBe(true);
  expect(isAlive({ pid: process.pid, start: null })).toBe(true);
  expect(isAlive(null)).toBe(false);
});
