import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type FailedAttempt, failureClass, maxTries, nextStep } from "../../../core/sessions/session/retry-policy.ts";
import { type ErrorCode, errorCodes } from "../../../plugin-sdk/errors.ts";

function failed(code: ErrorCode, changes: Partial<FailedAttempt> = {}): FailedAttempt {
  return {
    error: { code, message: "It failed." },
    tries: 1,
    waitMs: null,
    hopeless: false,
    timeLeftMs: 3_600_000,
    next: null,
    retry: "safe",
    ...changes,
  };
}

const even = () => 0.5;

describe("failureClass", () => {
  test.each(
    [
      ["idle_timeout", "timeout"],
      ["out_of_memory", "crash"],
      ["unresponsive", "crash"],
      ["quarantined", "unavailable"],
      ["binary_missing", "unavailable"],
      ["load_failed", "unavailable"],
      ["rate_limit", "rate_limit"],
      ["permission_denied", "fatal"],
      ["limit_exceeded", "fatal"],
      ["interrupted", "fatal"],
    ] as const,
  )("%s is %s", (code, kind) => {
    expect(failureClass({ code, message: "" })).toBe(kind);
  });

  test("a refusal is fatal whatever its code", () => {
    expect(failureClass({ code: "crash", message: "", details: { agent_code: "refused" } })).toBe("fatal");
  });
});

describe("nextStep", () => {
  test.each([[1, 2000], [2, 4000], [3, 8000], [4, 16_000]])("after try %i a crash waits %i ms", (tries, wait_ms) => {
    expect(nextStep(failed("crash", { tries }), even)).toEqual({ act: "retry", wait_ms });
    expect(nextStep(failed("idle_timeout", { tries }), even)).toEqual({ act: "retry", wait_ms });
  });

  test("the back-off varies by a fifth and never goes over 16 s", () => {
    expect(nextStep(failed("crash"), () => 0)).toEqual({ act: "retry", wait_ms: 1600 });
    expect(nextStep(failed("crash"), () => 1)).toEqual({ act: "retry", wait_ms: 2400 });
    expect(nextStep(failed("crash", { tries: 4 }), () => 1)).toEqual({ act: "retry", wait_ms: 16_000 });
  });

  test("a rate limit waits what was said, else a minute", () => {
    expect(nextStep(failed("rate_limit", { waitMs: 1234 }))).toEqual({ act: "retry", wait_ms: 1234 });
    expect(nextStep(failed("rate_limit"))).toEqual({ act: "retry", wait_ms: 60_000 });
  });

  test("a limited access mode is left for the next one at once", () => {
    expect(nextStep(failed("rate_limit", { waitMs: 1, next: "access_mode" }))).toEqual({ act: "next" });
    expect(nextStep(failed("rate_limit", { waitMs: 1, next: "adapter" }))).toEqual({ act: "retry", wait_ms: 1 });
  });

  test("leaves a limit whose end is not known to the next adapter, where there is one", () => {
    expect(nextStep(failed("rate_limit", { next: "adapter" }))).toEqual({ act: "next" });
    expect(nextStep(failed("rate_limit", { next: "adapter", retry: "never" }))).toEqual({ act: "give_up" });
    expect(nextStep(failed("rate_limit"))).toEqual({ act: "retry", wait_ms: 60_000 });
  });

  test.each([
    ["what is unavailable", failed("quarantined")],
    ["a wait longer than the time left", failed("rate_limit", { waitMs: 10_000, timeLeftMs: 9999 })],
    ["a back-off longer than the time left", failed("crash", { timeLeftMs: 100 })],
    ["the fifth failure", failed("crash", { tries: maxTries })],
    ["what its adapter calls hopeless", failed("rate_limit", { hopeless: true })],
  ])("%s goes to the next adapter, and ends the session where there is none", (_, attempt) => {
    expect(nextStep({ ...attempt, next: "adapter" })).toEqual({ act: "next" });
    expect(nextStep(attempt)).toEqual({ act: "give_up" });
  });

  test.each([failed("fatal", { next: "adapter" }), failed("crash", { retry: "never", next: "adapter" })])(
    "neither the fatal nor the forbidden is tried again: %j",
    (attempt) => {
      expect(nextStep(attempt)).toEqual({ act: "give_up" });
    },
  );

  test("every run of failures ends, within five tries of each adapter and the time there is", () => {
    const codes = Object.keys(errorCodes) as ErrorCode[];
    fc.assert(fc.property(
      fc.array(fc.record({ code: fc.constantFrom(...codes), waitMs: fc.option(fc.nat(100_000), { nil: null }) }), {
        minLength: 60,
        maxLength: 60,
      }),
      fc.integer({ min: 1, max: 4 }),
      fc.nat(1_000_000),
      (script, adapters, time) => {
        let [adapter, tries, left] = [1, 0, time];
        for (const { code, waitMs } of script) {
          tries++;
          const next = adapter < adapters ? "adapter" as const : null;
          const step = nextStep(failed(code, { waitMs, tries, next, timeLeftMs: left }));
          if (step.act === "give_up") return;
          if (step.act === "next") [adapter, tries] = [adapter + 1, 0];
          else left -= step.wait_ms;
          expect(adapter).toBeLessThanOrEqual(adapters);
          expect(tries).toBeLessThan(maxTries);
          expect(left).toBeGreaterThanOrEqual(0);
        }
        throw new Error("It never ended.");
      },
    ));
  });
});
