import { describe, expect, test } from "vitest";
import { reachVerdict, withSettingsHint } from "../../../core/sessions/session/verdict.ts";
import { type ErrorCode, errorCodes } from "../../../plugin-sdk/errors.ts";
import type { CompletedEvent, ErrorEvent } from "../../../plugin-sdk/events.ts";
import { outcomeOf, stopReasons } from "../../../plugin-sdk/result.ts";

const completed: CompletedEvent = {
  type: "completed",
  success: true,
  files_changed: [],
  tokens_used: null,
  cost: null,
};
const none = { stopped: null, failure: null, lastWord: null, refusedEnd: null };

function spoken(code: string): ErrorEvent {
  return { type: "error", code, message: "It says so.", recoverable: false };
}

describe("reachVerdict", () => {
  test("the host's own reason comes first, then a failure, then the last word", () => {
    const stopped = { reason: "timeout", error: { code: "timeout", message: "Late." } } as const;
    const failure = { code: "crash", message: "Dead." } as const;
    expect(reachVerdict({ ...none, stopped, failure, lastWord: completed })).toEqual({
      stop_reason: "timeout",
      error: stopped.error,
    });
    expect(reachVerdict({ ...none, failure, lastWord: completed })).toEqual({ stop_reason: "crash", error: failure });
    expect(reachVerdict({ ...none, lastWord: completed })).toEqual({ stop_reason: "end_turn" });
  });

  test("an adapter that says nothing at the end has failed", () => {
    expect(reachVerdict(none)).toEqual({
      stop_reason: "fatal",
      error: { code: "fatal", message: "The adapter ended without saying whether the work was done." },
    });
  });

  test("an adapter whose last word was refused is told why, not that it said nothing", () => {
    const refusedEnd = "completed needs files_changed (a list).";
    const { error } = reachVerdict({ ...none, refusedEnd });
    expect(error?.message).toBe("The adapter's last event was refused: completed needs files_changed (a list).");
    expect(reachVerdict({ ...none, refusedEnd, lastWord: completed })).toEqual({ stop_reason: "end_turn" });
  });

  test("a message is cut, never in the middle of a character", () => {
    for (const message of ["x".repeat(1e6), "\u{1f600}".repeat(1e5), `x${"\u{1f600}".repeat(1e5)}`]) {
      const { error } = reachVerdict({ ...none, lastWord: { ...spoken("E42"), message } });
      expect(error!.message.length).toBeLessThanOrEqual(4096);
      expect(error!.message).toMatch(/…$/);
      expect(error!.message).not.toMatch(/\p{Surrogate}/u);
    }
    const { error } = reachVerdict({ ...none, lastWord: spoken("E".repeat(1e6)) });
    expect(JSON.stringify(error).length).toBeLessThan(1000);
  });

  test("work that was not done is fatal, with the agent's own text where it has one", () => {
    const failed = { ...completed, success: false };
    expect(reachVerdict({ ...none, lastWord: failed })).toMatchObject({
      stop_reason: "fatal",
      error: { message: "The agent said it failed." },
    });
    expect(reachVerdict({ ...none, lastWord: { ...failed, output: "No disk." } })).toMatchObject({
      error: { message: "No disk." },
    });
  });

  test("an error the adapter speaks keeps a code of the host, and any other as the agent's", () => {
    expect(reachVerdict({ ...none, lastWord: spoken("rate_limit") })).toEqual({
      stop_reason: "rate_limit",
      error: { code: "rate_limit", message: "It says so." },
    });
    expect(reachVerdict({ ...none, lastWord: spoken("E42") })).toEqual({
      stop_reason: "fatal",
      error: { code: "fatal", message: "It says so.", details: { agent_code: "E42" } },
    });
    expect(reachVerdict({ ...none, lastWord: spoken("refused") })).toMatchObject({ stop_reason: "refused" });
    expect(reachVerdict({ ...none, lastWord: spoken("toString") })).toMatchObject({ stop_reason: "fatal" });
  });

  test.each(["host_closed", "host_restarted", "internal", "quarantined", "forbidden", "out_of_memory"])(
    "an adapter's word %s becomes fatal: only the host can know that",
    (code) => {
      expect(reachVerdict({ ...none, lastWord: spoken(code) })).toEqual({
        stop_reason: "fatal",
        error: { code: "fatal", message: "It says so.", details: { agent_code: code } },
      });
    },
  );

  test.each(Object.keys(errorCodes) as ErrorCode[])(
    "a failure with code %s has a stop reason that is no success",
    (code) => {
      const { stop_reason } = reachVerdict({ ...none, failure: { code, message: "It failed." } });
      expect(Object.values(stopReasons).flat()).toContain(stop_reason);
      expect(outcomeOf(stop_reason)).toBe("error");
    },
  );

  test.each(
    [
      ["out_of_memory", "crash"],
      ["unresponsive", "crash"],
      ["protocol_violation", "crash"],
      ["quarantined", "unavailable"],
      ["busy", "unavailable"],
      ["binary_missing", "unavailable"],
      ["adapter_initialization", "fatal"],
      ["bundle_failed", "fatal"],
    ] as const,
  )("a failure with code %s is %s", (code, reason) => {
    expect(reachVerdict({ ...none, failure: { code, message: "It failed." } }).stop_reason).toBe(reason);
  });
});

test("an agent without its login, or without the conversation to continue, gets a hint about its settings", () => {
  const hintOf = (message: string, continues = false, hint: string | undefined = "See ~/.zed.") =>
    withSettingsHint({ code: "unavailable", message }, { hint, continues }).hint;
  for (
    const message of ["HTTP 401", "Authentication required", "Please log in first.", "Invalid API key", "Not logged in"]
  ) expect(hintOf(message), message).toBe("See ~/.zed.");
  for (const message of ["Session not found", "No conversation found with session ID 5", "No previous sessions"]) {
    expect([hintOf(message), hintOf(message, true)], message).toEqual([undefined, "See ~/.zed."]);
  }
  expect(hintOf("Too many requests", true)).toBeUndefined();
  expect(hintOf("The blog is down")).toBeUndefined();
  const error = { code: "unavailable", message: "HTTP 401", hint: "Try it." } as const;
  expect(withSettingsHint(error, { hint: "See.", continues: false }).hint).toBe("Try it. See.");
  expect(withSettingsHint(error, { hint: undefined, continues: true })).toBe(error);
});
