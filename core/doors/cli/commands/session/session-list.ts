import type { Outcome } from "../../../../../plugin-sdk/result.ts";
import type { SessionState, SessionSummary } from "../../../../../plugin-sdk/session-summary.ts";
import type { SessionQuery } from "../../../../../plugin-sdk/queries.ts";
import { type Invocation, tellEach } from "../../command.ts";
import { findSession } from "../../find-session.ts";
import { openSessions } from "../../open-sessions.ts";
import { safeLine } from "../../render/agent-text.ts";
import { asTyped } from "../../render/as-typed.ts";
import { outcomeLooks, type Tone } from "../../render/paint.ts";
import { formatAge } from "../../render/quantities.ts";
import { shortId } from "../../../../ground/log/short-id.ts";
import type { Cell } from "../../render/table.ts";
import { tableText } from "../../show-session.ts";
import type { Workspace } from "../../../../../plugin-sdk/workspace.ts";
import { basename } from "../../../../ground/platform/files/paths.ts";

/** `bulkhead session list`. */
export async function sessionList(call: Invocation): Promise<number> {
  if (call.options["worktrees"] === true) return await sessionWorktrees(call);
  await using opened = await openSessions(call);
  const query = queryOf(call);
  const before = query.before === undefined ? undefined : (await findSession(opened.sessions, query.before)).session_id;
  const rows = await opened.sessions.list({ ...query, before });
  return await tellEach(call, rows, () => {
    if (rows.length === 0) {
      return asTyped(isFiltered(call) ? "No session matches." : 'No session yet. Start one: bulkhead run "…"');
    }
    const now = Date.now();
    const head = ["session", "state", "adapter", "age", "prompt"];
    return tableText(rows.map((row) => cells(row, now)), { terminal: call.terminal, head });
  });
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
export function stateCell({ outcome, stop_reason, waiting, turn }: SessionSummary): Cell {
  if (outcome !== null) return { text: `${outcome} · ${stop_reason ?? ""}`, tone: outcomeLooks[outcome][1] };
  if (waiting.length > 0) return { text: "waits for an answer", tone: "yellow" };
  return turn?.state === "kept" ? { text: "kept", tone: "dim" } : { text: "running", tone: "cyan" };
}

async function sessionWorktrees(call: Invocation): Promise<number> {
  await using opened = await openSessions(call);
  const { terminal } = call;
  const workspaces = await opened.workspaces.list();
  const now = Date.now();
  const known = new Map((await opened.sessions.list({ limit: 500 })).map((summary) => [summary.session_id, summary]));
  const newest = workspaces.toSorted((a, b) => b.created_at.localeCompare(a.created_at));
  const rows = newest.map((workspace) => row(workspace, { now, session: known.get(workspace.session_id) }));
  const head = ["session", "state", "adapter", "age", "repository", "prompt"];
  return await tellEach(
    call,
    workspaces,
    () => rows.length === 0 ? "No session has worked in a worktree." : tableText(rows, { terminal, head }),
  );
}

function row(
  { session_id, state, running, created_at, repository }: Workspace,
  { now, session }: { now: number; session: SessionSummary | undefined },
): Cell[] {
  const [text, tone] = running ? ["running", "yellow" as Tone] : looks[state];
  return [
    { text: shortId(session_id), tone: "bold" },
    { text, tone },
    session?.adapter_id ?? "",
    formatAge(created_at, now),
    basename(repository),
    { text: session?.title ?? "", tone: "dim" },
  ];
}

const looks: Readonly<Record<Workspace["state"], [text: string, tone: Tone]>> = {
  opening: ["cut off while opened", "red"],
  open: ["waits", "green"],
  applying: ["cut off while applied", "red"],
  applied: ["applied", "dim"],
  discarded: ["discarded", "dim"],
};
