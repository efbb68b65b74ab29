import { errorTable } from "../../../ground/errors/error-table.ts";
import type { Invocation } from "../command.ts";
import { openSessions } from "../open-sessions.ts";
import { safeLine } from "../render/agent-text.ts";
import { plural } from "../render/quantities.ts";

/** `bulkhead session prune`. */
export async function sessionPrune(call: Invocation): Promise<number> {
  await using opened = await openSessions(call);
  const { terminal, json, options } = call;
  const { olderThan } = options;
  const report = await opened.workspaces.prune(typeof olderThan === "number" ? { olderThanMs: olderThan } : {});
  if (json) await terminal.stdout.write(`${JSON.stringify(report)}\n`);
  else {
    const { removed, failed } = report;
    const lines = failed.map(({ session_id, error }) => `${session_id}: ${safeLine(error.message)}`);
    const done = removed.length === 0 ? "Nothing was removed." : `Removed ${plural(removed.length, "worktree")}.`;
    await terminal.stdout.write(`${[...lines, done].join("\n")}\n`);
  }
  const [first] = report.failed;
  return first === undefined ? 0 : errorTable[first.error.code].exit_code;
}
