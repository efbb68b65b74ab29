import { describe, expect, test } from "vitest";
import { ExecStream } from "../../plugins/codex/exec-stream.ts";

// What no recording shows: legal but rare, or sent by other servers and programs than those that were recorded.
describe("Codex", () => {
  test("an error that the turn got over is told as something that passed", () => {
    const stream = new ExecStream();
    const rows = [{ type: "error", message: "a tool server is away" }, { type: "turn.completed" }];
    const events = rows.flatMap((row) => stream.read(JSON.stringify(row)));
    expect(events).toMatchObject([{ type: "progress", message: "a tool server is away" }, { type: "completed" }]);
    expect(stream.end()).toEqual([]);
  });
});
