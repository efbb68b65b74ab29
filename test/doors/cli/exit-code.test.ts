import { describe, expect, it } from "vitest";
import { exitCodeOf } from "../../../core/doors/cli/exit-code.ts";
import { exitCodeRows } from "../../../core/ground/errors/exit-codes.ts";
import { reachVerdict } from "../../../core/sessions/session/verdict.ts";
import { type ErrorCode, errorCodes } from "../../../plugin-sdk/errors.ts";
import { outcomeOf, stopReasons } from "../../../plugin-sdk/result.ts";

const rows = exitCodeRows();

function ended(code: ErrorCode): number {
  return exitCodeOf(
    reachVerdict({ stopped: null, failure: { code, message: "It failed." }, lastWord: null, refusedEnd: null }),
  );
}

describe("exitCodeOf", () => {
  it.each(Object.keys(errorCodes) as ErrorCode[])("ends a session that failed by %s as its row says", (code) => {
    expect(rows.filter(({ errors }) => errors.includes(code)).map(({ exit_code }) => exit_code)).toEqual([ended(code)]);
  });

  it.each(Object.values(stopReasons).flat())("ends a session that stopped by %s as its row says", (stop_reason) => {
    const fatal = { code: "fatal", message: "It failed." } as const;
    const result = { stop_reason, ...(outcomeOf(stop_reason) === "completed" ? {} : { error: fatal }) };
    const of = rows.filter(({ stop_reasons }) => stop_reasons.includes(stop_reason));
    expect(of.map(({ exit_code }) => exit_code)).toEqual([exitCodeOf(result)]);
  });

  it("gives a missing program and a missing variable one stop reason", () => {
    const reasons = (["binary_missing", "env_missing"] as const).map((code) =>
      reachVerdict({ stopped: null, failure: { code, message: "." }, lastWord: null, refusedEnd: null }).stop_reason
    );
    expect(reasons).toEqual(["unavailable", "unavailable"]);
  });
});
