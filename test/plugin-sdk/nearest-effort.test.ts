import { nearestEffort } from "bulkhead/plugin-sdk";
import { expect, test } from "vitest";

test("nearestEffort takes an agent's own word, or the nearest of those it has, the lesser one of two", () => {
  const levels = ["low", "medium", "high", "xhigh"];
  expect(nearestEffort("high", levels)).toBe("high");
  expect(nearestEffort("minimal", levels)).toBe("low");
  expect(nearestEffort("max", levels)).toBe("xhigh");
  expect(nearestEffort("max", ["ultra", "xhigh"])).toBe("xhigh");
  expect(nearestEffort("medium", ["other"])).toBe(undefined);
});
