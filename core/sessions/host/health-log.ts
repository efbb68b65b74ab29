import type { StateProblem } from "../../ground/runtime/state-health.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";

/** Makes what writes one line to the log when the state cannot be written, and one when it can be again. */
export function healthLog(writeLog: (record: LogRecord) => void): (problem: StateProblem | null) => void {
  let since = 0;
  return (problem) => {
    if (problem === null) {
      const seconds = Math.max(1, Math.round((Date.now() - since) / 1000));
      return writeLog({ level: "info", message: `The state can be written again, after ${seconds} s.` });
    }
    since = Date.now();
    const { code, state, hint, file } = problem;
    const message = `The state cannot be written, so no session starts: ${state}. ${hint}`;
    writeLog({ level: "error", message, fields: { cause_code: code, file } });
  };
}
