import type { SessionResult } from "../../../plugin-sdk/result.ts";
import { errorTable } from "../../ground/errors/error-table.ts";
import { stopReasonExitCodes } from "../../ground/errors/stop-reason-table.ts";

/** Returns a session's exit code: its stop reason's, or for `fatal` that of the error behind it. */
export function exitCodeOf(result: Pick<SessionResult, "stop_reason" | "error">): number {
  if (result.stop_reason === "fatal" && result.error !== undefined) return errorTable[result.error.code].exit_code;
  return stopReasonExitCodes[result.stop_reason];
}
