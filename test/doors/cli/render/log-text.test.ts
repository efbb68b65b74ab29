import { expect, test } from "vitest";
import { logText } from "../../../../core/doors/cli/render/log-text.ts";
import { createPaint } from "../../../../core/doors/cli/render/paint.ts";
import { localTime } from "../../../../core/doors/cli/render/quantities.ts";

test("logText tells times as they are here, and leaves what is no record of ours", () => {
  const time = "2026-01-31T12:00:07.123Z";
  const line = JSON.stringify({ level: "warn", time, message: `It is limited until ${time}.`, plugin_id: "alpha" });
  const here = localTime(time);
  expect(logText(line, createPaint(false))).toBe(`${here}:07 warn  It is limited until ${here}. alpha`);
  expect(logText(JSON.stringify({ level: "info", time: "soon", message: "x" }), createPaint(false))).toBe(
    "soon info  x",
  );
  expect(logText("not JSON", createPaint(false))).toBe("not JSON");
});
