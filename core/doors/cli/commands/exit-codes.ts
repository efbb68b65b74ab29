import { errorCodes } from "../../../../plugin-sdk/errors.ts";
import { stopReasons } from "../../../../plugin-sdk/result.ts";
import { errorTable } from "../../../ground/errors/error-table.ts";
import { stopReasonExitCodes } from "../../../ground/errors/stop-reason-table.ts";
import type { DefineCommand, Invocation } from "../command.ts";

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

/** `bulkhead exit-codes`; also `bulkhead help exit-codes`. */
export const defineExitCodes: DefineCommand = (command, bind) => {
  command.addHelpText("after", () => `\n${exitCodeText()}`).action(bind(exitCodes));
};

async function exitCodes({ terminal, json }: Invocation): Promise<number> {
  if (!json) {
    await terminal.stdout.write(exitCodeText());
    return 0;
  }
  for (const row of exitCodeRows()) await terminal.stdout.write(`${JSON.stringify(row)}\n`);
  return 0;
}

/** Lists every exit code with its meaning and the stop reasons and error codes that lead to it. */
export function exitCodeRows(): { exit_code: number; meaning: string; stop_reasons: string[]; errors: string[] }[] {
  const reasons = Object.values(stopReasons).flat();
  const codes = Object.keys(errorCodes) as (keyof typeof errorCodes)[];
  return [...meanings].map(([exit_code, meaning]) => ({
    exit_code,
    meaning,
    stop_reasons: reasons.filter((reason) => stopReasonExitCodes[reason] === exit_code),
    errors: codes.filter((code) => errorTable[code].exit_code === exit_code),
  }));
}

function exitCodeText(): string {
  const lines = exitCodeRows().map((row) => {
    const names = [...new Set([...row.stop_reasons, ...row.errors])].join(", ");
    return `  ${String(row.exit_code).padStart(3)}  ${row.meaning}${names === "" ? "" : `\n       ${wrap(names)}`}`;
  });
  return `Exit codes, with the stop reasons and errors that give them:\n${lines.join("\n")}\n`;
}

function wrap(names: string): string {
  return names.replace(/(.{1,85})(?:, |$)/g, "$1\n       ").trimEnd();
}
