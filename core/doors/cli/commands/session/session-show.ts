import type { SessionHistory } from "../../../../../plugin-sdk/session-history.ts";
import type { SessionSummary, WaitingRequest } from "../../../../../plugin-sdk/session-summary.ts";
import { shortId } from "../../../../ground/log/short-id.ts";
import type { SessionHost } from "../../../../sessions/host/session-host.ts";
import type { Terminal } from "../../../../ground/platform/terminal/terminal.ts";
import type { Invocation } from "../../command.ts";
import { findSession } from "../../find-session.ts";
import { openSessions } from "../../open-sessions.ts";
import { safeLine, safeText } from "../../render/agent-text.ts";
import { askedText } from "../../render/input-text.ts";
import { createPaint } from "../../render/paint.ts";
import { formatDuration, localTime, plural } from "../../render/quantities.ts";
import { resultLines } from "../../render/result-lines.ts";
import type { Cell } from "../../render/table.ts";
import { answerOf, drawingColumns, tableText } from "../../show-session.ts";
import { until } from "./session-events.ts";
import { heldOf } from "./session-held.ts";
import { stateCell } from "./session-list.ts";

/** `bulkhead session show <id>`. */
export async function sessionShow(call: Invocation): Promise<number> {
  await using opened = await openSessions(call);
  const { terminal, json, args } = call;
  const summary = await findSession(opened.sessions, args[0] ?? "");
  const result = summary.state === "ended" ? await (await opened.sessions.open(summary.session_id)).result() : null;
  const held = await heldOf(opened.workspaces, summary.session_id);
  const history = await opened.sessions.history(summary.session_id);
  if (json) {
    // "session events" shows the events.
    const { events: _, ...shown } = result ?? { events: [] };
    await terminal.stdout.write(`${JSON.stringify({ ...summary, ...history, held, result: result && shown })}\n`);
    return 0;
  }
  const paint = createPaint(terminal.colours.stdout);
  const lines = [tableText(summaryRows(summary, history), { terminal, head: [], wraps: true })];
  const asked = await askedBy(opened.sessions, { summary, terminal });
  if (asked !== "") lines.push(asked.trimEnd());
  if (result !== null) {
    const columns = drawingColumns(terminal);
    lines.push("", ...resultLines({ ...result, held }, { paint, columns, events: summary.last_seq, indent: 1 }));
    const settled = (result.held?.length ?? 0) - held.length;
    if (settled > 0) lines.push(`   ${paint("dim", `${plural(settled, "change")} that could run programs: settled`)}`);
    const answer = answerOf(result);
    if (answer !== "") lines.push("", safeText(answer).trimEnd());
  }
  await terminal.stdout.write(`${lines.join("\n")}\n`);
  return 0;
}

function waitingLine({ request_id, text, choices }: WaitingRequest): string {
  const offered = choices.length === 0 ? "" : ` (${choices.join(", ")})`;
  return `${request_id}: ${text}${offered}`;
}

function deadlineRow({ answer_by, answer_cut_from_ms }: WaitingRequest): [string, string][] {
  if (answer_by === undefined) return [];
  const cut = answer_cut_from_ms === undefined
    ? ""
    : ` (limits.answer_timeout_ms cut the ${formatDuration(answer_cut_from_ms)} that were asked for)`;
  return [["until", `${localTime(answer_by)}${cut}`]];
}

/** Events before the newest among which a request that waits is looked for. */
const nearEnd = 1000;

/** Commands and changes of the tools that wait for an answer: the title of a request is only its agent's word. */
async function askedBy(
  sessions: Pick<SessionHost, "open">,
  { summary, terminal }: { summary: SessionSummary; terminal: Terminal },
): Promise<string> {
  const { session_id, waiting, last_seq } = summary;
  const open = new Set(waiting.map(({ request_id }) => request_id));
  if (open.size === 0) return "";
  const drawn = { paint: createPaint(terminal.colours.stdout), columns: drawingColumns(terminal) };
  const texts: string[] = [];
  const events = (await sessions.open(session_id)).events({ after: Math.max(0, last_seq - nearEnd) });
  for await (const { event } of until(events, last_seq)) {
    if (event.type !== "permission_request" || !open.has(event.request_id)) continue;
    texts.push(` ${safeLine(`${event.request_id}: ${event.tool}`)}\n${askedText(event.input, drawn)}`);
  }
  return texts.join("");
}

function summaryRows(summary: SessionSummary, history: SessionHistory): Cell[][] {
  const { session_id, adapter_id, workdir, title, task_id, labels, started_at, waiting } = summary;
  const rows: [string, Cell][] = [
    ["session", { text: shortId(session_id), tone: "bold" }],
    ["state", stateCell(summary)],
    ["adapter", adapter_id ?? "none yet"],
    ["started", localTime(started_at)],
    ["folder", workdir],
    ["prompt", title],
    ...(task_id === null ? [] : [["task", task_id] as [string, string]]),
    ...Object.entries(labels).map(([key, value]): [string, string] => ["label", `${key}=${value}`]),
    ...history.attempts.filter(({ error_code }) => error_code !== null).map((
      { attempt, adapter_id, error_code },
    ): [string, string] => ["attempt", `${attempt} on ${adapter_id} failed: ${error_code}`]),
    ...history.children.filter(({ ended_at }) => ended_at === null).map(({ program, pid }): [string, string] => [
      "runs",
      `${program} (process ${pid})`,
    ]),
    ...waiting.flatMap((request): [string, string][] => [["waits", waitingLine(request)], ...deadlineRow(request)]),
  ];
  return rows.map(([name, value]) => [{ text: name.padEnd(8), tone: "dim" }, value]);
}
