import type { SessionHistory } from "../../../../../plugin-sdk/session-history.ts";
import type { SessionSummary, WaitingRequest } from "../../../../../plugin-sdk/session-summary.ts";
import { shortId } from "../../../../ground/log/short-id.ts";
import type { Invocation } from "../../command.ts";
import { findSession } from "../../find-session.ts";
import { openSessions } from "../../open-sessions.ts";
import { safeLine, safeText } from "../../render/agent-text.ts";
import { createPaint, type Paint } from "../../render/paint.ts";
import { formatDuration, localTime, plural } from "../../render/quantities.ts";
import { resultLines } from "../../render/result-lines.ts";
import { answerOf, drawingColumns } from "../../show-session.ts";
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
  const lines = summaryLines(summary, { history, paint });
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
  const offered = choices.length === 0 ? "" : ` (${choices.map(safeLine).join(", ")})`;
  return `${safeLine(request_id)}: ${safeLine(text)}${offered}`;
}

function deadlineRow({ answer_by, answer_cut_from_ms }: WaitingRequest): [string, string][] {
  if (answer_by === undefined) return [];
  const cut = answer_cut_from_ms === undefined
    ? ""
    : ` (limits.answer_timeout_ms cut the ${formatDuration(answer_cut_from_ms)} that were asked for)`;
  return [["until", `${localTime(answer_by)}${cut}`]];
}

function summaryLines(
  summary: SessionSummary,
  { history, paint }: { history: SessionHistory; paint: Paint },
): string[] {
  const { session_id, adapter_id, workdir, title, task_id, labels, started_at, waiting } = summary;
  const state = stateCell(summary);
  const rows: [string, string][] = [
    ["session", paint("bold", shortId(session_id))],
    ["state", typeof state === "string" ? safeLine(state) : paint(state.tone ?? "plain", safeLine(state.text))],
    ["adapter", safeLine(adapter_id ?? "none yet")],
    ["started", localTime(started_at)],
    ["folder", safeLine(workdir)],
    ["prompt", safeLine(title)],
    ...(task_id === null ? [] : [["task", safeLine(task_id)] as [string, string]]),
    ...Object.entries(labels).map(([key, value]): [string, string] => ["label", safeLine(`${key}=${value}`)]),
    ...history.attempts.filter(({ error_code }) => error_code !== null).map((
      { attempt, adapter_id, error_code },
    ): [string, string] => ["attempt", safeLine(`${attempt} on ${adapter_id} failed: ${error_code}`)]),
    ...history.children.filter(({ ended_at }) => ended_at === null).map(({ program, pid }): [string, string] => [
      "runs",
      safeLine(`${program} (process ${pid})`),
    ]),
    ...waiting.flatMap((request): [string, string][] => [["waits", waitingLine(request)], ...deadlineRow(request)]),
  ];
  return rows.map(([name, value]) => ` ${paint("dim", name.padEnd(8))}  ${value}`);
}
