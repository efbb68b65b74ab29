import { errorCodes } from "../../../plugin-sdk/errors.ts";
import { stopReasons } from "../../../plugin-sdk/result.ts";
import { errorTable } from "./error-table.ts";
import { stopReasonExitCodes } from "./stop-reason-table.ts";

const meanings: ReadonlyMap<number, string> = new Map([
  [0, "done"],
  [1, "the agent failed"],
  [2, "bad input or usage"],
  [3, "blocked: no answer came, or the agent refused"],
  [4, "denied: a permission is not granted"],
  [5, "not found"],
  [6, "unavailable, busy or rate limited"],
  [7, "a deadline passed"],
  [8, "a crash"],
  [9, "a limit or budget was reached"],
  [70, "a defect of Bulkhead"],
  [130, "interrupted"],
  [141, "the reader of the output went away"],
]);

/** One exit code of the command line, with the stop reasons and error codes that lead to it. */
interface ExitCodeRow {
  exit_code: number;
  meaning: string;
  stop_reasons: string[];
  errors: string[];
}

/** Lists every exit code. */
export function exitCodeRows(): ExitCodeRow[] {
  const reasons = Object.values(stopReasons).flat();
  const codes = Object.keys(errorCodes) as (keyof typeof errorCodes)[];
  return [...meanings].map(([exit_code, meaning]) => ({
    exit_code,
    meaning,
    stop_reasons: reasons.filter((reason) => stopReasonExitCodes[reason] === exit_code),
    errors: codes.filter((code) => errorTable[code].exit_code === exit_code),
  }));
}
