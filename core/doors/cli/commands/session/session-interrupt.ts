import { BulkheadError, type ErrorData } from "../../../../../plugin-sdk/errors.ts";
import { errorTable } from "../../../../ground/errors/error-table.ts";
import { toErrorData } from "../../../../ground/errors/to-error-data.ts";
import type { SessionSummary } from "../../../../../plugin-sdk/session-summary.ts";
import type { SessionHost } from "../../../../sessions/host/session-host.ts";
import { type Invocation, tell } from "../../command.ts";
import { findSession } from "../../find-session.ts";
import { openSessions } from "../../open-sessions.ts";
import { Questions } from "../../questions.ts";
import { safeLine } from "../../render/agent-text.ts";
import { formatAge } from "../../render/quantities.ts";
import { shortId, shortIds } from "../../../../ground/log/short-id.ts";
import { tableText } from "../../show-session.ts";

/** `bulkhead session interrupt`. */
export async function sessionInterrupt(call: Invocation): Promise<number> {
  const { all, agent, yes } = call.options;
  if (yes !== undefined && all !== true) throw new BulkheadError("invalid_config", "--yes goes with --all.");
  if ((call.args[0] === undefined) === (all !== true) || (agent !== undefined && all !== true)) {
    throw new BulkheadError("invalid_config", "Name one session, or stop all of them with --all.", {
      hint: "To see what runs: bulkhead session list --state running",
    });
  }
  await using opened = await openSessions(call);
  if (all === true) return await interruptAll(call, opened.sessions);
  const { session_id, state } = await findSession(opened.sessions, call.args[0] ?? "");
  const { outcome, stop_reason } = await (await opened.sessions.open(session_id)).interrupt();
  const was_running = state === "running";
  const text = `${was_running ? "Ended" : "It had ended"}: ${shortId(session_id)}, ${outcome} · ${stop_reason}.`;
  return await tell(call, { session_id, was_running, outcome, stop_reason }, text);
}

/** More sessions may begin while others are stopped: how often to look again. */
const mostLooks = 20;

/** Interrupts until none is left; a session that cannot be interrupted is named, and is not tried again. */
async function interruptAll(call: Invocation, sessions: SessionHost): Promise<number> {
  const adapter = call.options["agent"] as string | undefined;
  if (!await isMeant(call, await sessions.list({ state: "running", adapter, limit: 500 }))) {
    return await tell(call, { ended: [], failed: [] }, "None is stopped.");
  }
  const ended: { session_id: string; outcome: string; stop_reason: string }[] = [];
  const failed = new Map<string, ErrorData>();
  for (let look = 0; look < mostLooks; look++) {
    const running = await sessions.list({ state: "running", adapter, limit: 500 });
    const left = running.filter(({ session_id }) => !failed.has(session_id));
    if (left.length === 0) break;
    await Promise.all(left.map(async ({ session_id }) => {
      try {
        const { outcome, stop_reason } = await (await sessions.open(session_id)).interrupt();
        ended.push({ session_id, outcome, stop_reason });
      } catch (error) {
        failed.set(session_id, toErrorData(error));
      }
    }));
  }
  const errors = [...failed].map(([session_id, error]) => ({ session_id, error }));
  const lines = [
    ...ended.map(({ session_id, outcome, stop_reason }) =>
      `Ended: ${shortId(session_id)}, ${outcome} · ${stop_reason}.`
    ),
    ...errors.map(({ session_id, error }) => `${shortId(session_id)}: ${safeLine(shortIds(error.message))}`),
  ];
  await tell(call, { ended, failed: errors }, lines.length === 0 ? "No session runs." : lines.join("\n"));
  const [first] = errors;
  return first === undefined ? 0 : errorTable[first.error.code].exit_code;
}

/** Sessions that the question names. */
const mostNamed = 40;

/** Shows a person what would be stopped, and asks. Without one, or with --yes, it is meant. */
async function isMeant(call: Invocation, running: readonly SessionSummary[]): Promise<boolean> {
  const { terminal, json, options } = call;
  if (running.length === 0 || json || options["yes"] === true || !Questions.possible(terminal)) return true;
  const now = Date.now();
  const rows = running.slice(0, mostNamed).map((one) => [
    shortId(one.session_id),
    safeLine(one.adapter_id ?? "none yet"),
    formatAge(one.started_at, now),
    safeLine(one.title),
  ]);
  const more = running.length > mostNamed ? `\nand ${running.length - mostNamed} more` : "";
  await terminal.stderr.write(
    `${tableText(rows, { terminal, head: ["session", "adapter", "age", "prompt"] })}${more}\n`,
  );
  const choices = [{ word: "stop", value: true }, { word: "no", value: false }];
  const question = running.length === 1 ? "Stop this session?" : `Stop these ${running.length} sessions?`;
  return await new Questions(terminal).choose(question, { choices }) ?? false;
}
