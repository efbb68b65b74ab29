import type { SessionSummary } from "../../../../plugin-sdk/session-summary.ts";
import type { Workspace } from "../../../../plugin-sdk/workspace.ts";
import type { Invocation } from "../command.ts";
import { openSessions } from "../open-sessions.ts";
import { basename } from "../../../ground/runtime/paths.ts";
import { createPaint, type Tone } from "../render/paint.ts";
import { formatAge } from "../render/quantities.ts";
import { shortId } from "../render/short-id.ts";
import { type Cell, tableLines } from "../render/table.ts";
import { tableColumns } from "../show-session.ts";

/** `bulkhead session list --worktrees`. */
export async function sessionWorktrees(call: Invocation): Promise<number> {
  await using opened = await openSessions(call);
  const { terminal } = call;
  const workspaces = await opened.workspaces.list();
  if (call.json) {
    for (const workspace of workspaces) await terminal.stdout.write(`${JSON.stringify(workspace)}\n`);
    return 0;
  }
  if (workspaces.length === 0) {
    await terminal.stdout.write("No session has worked in a worktree.\n");
    return 0;
  }
  const now = Date.now();
  const known = new Map((await opened.sessions.list({ limit: 500 })).map((summary) => [summary.session_id, summary]));
  const newest = workspaces.toSorted((a, b) => b.created_at.localeCompare(a.created_at));
  const lines = tableLines(
    newest.map((workspace) => row(workspace, { now, session: known.get(workspace.session_id) })),
    {
      paint: createPaint(terminal.colours.stdout),
      columns: tableColumns(terminal),
      indent: 1,
      head: ["session", "state", "adapter", "age", "repository", "prompt"],
    },
  );
  await terminal.stdout.write(`${lines.join("\n")}\n`);
  return 0;
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
