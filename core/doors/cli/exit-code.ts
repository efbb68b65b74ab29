import type { SessionResult } from "../../../plugin-sdk/result.ts";
import { errorTable } from "../../ground/errors/error-table.ts";
import { stopReasonExitCodes } from "../../ground/errors/stop-reason-table.ts";

/** Returns a session's exit code: that of the error behind its end, where this says more than the stop reason. */
export function exitCodeOf(result: Pick<SessionResult, "stop_reason" | "error">): number {
  const code = result.error?.code ?? "fatal";
  return code === "fatal" ? stopReasonExitCodes[result.stop_reason] : errorTable[code].exit_code;
}
