import { expect, test } from "vitest";
import { clockOf } from "../../../../../core/doors/console/page/rows/clock-text.ts";

const local = (...parts: [number, number, number, number, number, number]) => new Date(...parts).toISOString();
const at = local(2026, 10, 29, 14, 2, 11);

test("clockOf tells a row's local time by the clock, and all of it", () => {
  const { minute, seconds, whole } = clockOf(at, null);
  expect({ minute, seconds }).toEqual({ minute: "14:02", seconds: ":11" });
  expect(whole).toContain("2026");
  expect(clockOf(local(2026, 10, 29, 0, 5, 0), null).minute).toBe("00:05");
});

test("clockOf tells where the minute or the day is another than in the row above", () => {
  const changes = (above: string | null) => {
    const { isNewMinute, isNewDay } = clockOf(at, above);
    return { isNewMinute, isNewDay };
  };
  expect(changes(null)).toEqual({ isNewMinute: true, isNewDay: false });
  expect(changes(local(2026, 10, 29, 14, 2, 59))).toEqual({ isNewMinute: false, isNewDay: false });
  expect(changes(local(2026, 10, 29, 14, 1, 59))).toEqual({ isNewMinute: true, isNewDay: false });
  expect(changes(local(2026, 10, 28, 14, 2, 11))).toEqual({ isNewMinute: true, isNewDay: true });
});

test("clockOf shows no time for an event whose time cannot be read", () => {
  expect(clockOf("x".repeat(100), at)).toMatchObject({ minute: "", isNewMinute: false, whole: "x".repeat(64) });
});
