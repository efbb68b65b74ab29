import { describe, expect, test, vi } from "vitest";
import { defaultLimits } from "../../../core/ground/config/limits.ts";
import { makeBroker } from "./broker-fixture.ts";

describe("log", () => {
  test("passes records on, every text in them cleaned", async () => {
    const { broker, logs } = await makeBroker();
    const fields = { "k\u001b": ["\u202ev", 1, null, { deep: "\r" }] };
    await broker.call("log", { level: "warn", message: "fake\n[error] \u001b]52;c;x\u0007", fields });
    await broker.call("log", { level: "info", message: "plain", fields: null });
    expect(logs).toEqual([
      {
        level: "warn",
        message: "fake\\u{a}[error] \\u{1b}]52;c;x\\u{7}",
        fields: { "k\\u{1b}": ["\\u{202e}v", 1, null, { deep: "\\u{d}" }] },
      },
      { level: "info", message: "plain", fields: null },
    ]);
  });

  test("cuts long messages and fields", async () => {
    const { broker, logs } = await makeBroker({ limits: { ...defaultLimits, log_bytes: 20 } });
    await broker.call("log", { level: "info", message: "x".repeat(30), fields: { big: "y".repeat(100) } });
    expect(logs[0]?.message).toBe(`${"x".repeat(20)}… (10 more)`);
    expect(logs[0]?.fields).toMatch(/^\{"big":"y{12}… \(\d+ more\)$/);
  });

  test("lets so many through in a second and then says how many it left out", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: 1_000_000 });
    try {
      const { broker, logs } = await makeBroker({ limits: { ...defaultLimits, log_per_second: 3 } });
      const say = (message: string) => broker.call("log", { level: "info", message, fields: null });
      for (let i = 0; i < 10; i++) await say(`a${i}`);
      expect(logs.map(({ message }) => message)).toEqual(["a0", "a1", "a2"]);
      vi.setSystemTime(1_001_000);
      await say("b");
      expect(logs.slice(3).map(({ message }) => message)).toEqual(["7 suppressed: more than 3 a second.", "b"]);
      for (let i = 0; i < 5; i++) await say("c");
      await broker.close();
      expect(logs.at(-1)?.message).toBe("3 suppressed: more than 3 a second.");
    } finally {
      vi.useRealTimers();
    }
  });
});
