import type { Outcome } from "../../../../plugin-sdk/result.ts";
import type { SessionState, SessionSummary } from "../../../../plugin-sdk/session-summary.ts";
import type { SessionQuery } from "../../../../plugin-sdk/queries.ts";
import type { Invocation } from "../command.ts";
import { openSessions } from "../open-sessions.ts";
import { safeLine } from "../render/agent-text.ts";
import { asTyped } from "../render/as-typed.ts";
import { createPaint, outcomeLooks } from "../render/paint.ts";
import { formatAge } from "../render/quantities.ts";
import { shortId } from "../render/short-id.ts";
import { type Cell, tableLines } from "../render/table.ts";
import { tableColumns } from "../show-session.ts";
import { sessionWorktrees } from "./session-worktrees.ts";

/** `bulkhead session list`. */
export async function sessionList(call: Invocation): Promise<number> {
  if (call.options["worktrees"] === true) return await sessionWorktrees(call);
  await using opened = await openSessions(call);
  const { terminal } = call;
  const rows = await opened.sessions.list(queryOf(call));
  if (call.json) {
    for (const row of rows) await terminal.stdout.write(`${JSON.stringify(row)}\n`);
    return 0;
  }
  if (rows.length === 0) {
    const text = isFiltered(call) ? "No session matches." : 'No session yet. Start one: bulkhead run "…"';
    await terminal.stdout.write(`${asTyped(text)}\n`);
    return 0;
  }
  const now = Date.now();
  const lines = tableLines(rows.map((row) => cells(row, now)), {
    paint: createPaint(terminal.colours.stdout),
    columns: tableColumns(terminal),
    indent: 1,
    head: ["session", "state", "adapter", "age", "prompt"],
  });
  await terminal.stdout.write(`${lines.join("\n")}\n`);
  return 0;
}

function queryOf({ options }: Invocation): SessionQuery {
  return {
    state: options["state"] as SessionState | undefined,
    outcome: options["outcome"] as Outcome | undefined,
    adapter: options["adapter"] as string | undefined,
    labels: options["label"] as Record<string, string> | undefined,
    task_id: options["task"] as string | undefined,
    limit: options["limit"] as number | undefined,
    before: options["before"] as string | undefined,
  };
}

function isFiltered(call: Invocation): boolean {
  return Object.entries(queryOf(call)).some(([name, value]) => name !== "limit" && value !== undefined);
}

function cells(row: SessionSummary, now: number): Cell[] {
  return [
    { text: shortId(row.session_id), tone: "bold" },
    stateCell(row),
    safeLine(row.adapter_id ?? "none yet"),
    formatAge(row.started_at, now),
    { text: safeLine(row.title), tone: "dim" },
  ];
}

/** Formats a session's state as one word. */
export function stateCell({ outcome, stop_reason, waiting }: SessionSummary): Cell {
  if (outcome !== null) return { text: `${outcome} · ${stop_reason ?? ""}`, tone: outcomeLooks[outcome][1] };
  return waiting.length > 0 ? { text: "waits for an answer", tone: "yellow" } : { text: "running", tone: "cyan" };
}
