import { formatCost } from "../../../../../plugin-sdk/currency.ts";
import type { Outcome } from "../../../../../plugin-sdk/result.ts";
import type { SessionState, SessionSummary } from "../../../../../plugin-sdk/session-summary.ts";
import type { SessionQuery } from "../../../../../plugin-sdk/queries.ts";
import { type Invocation, tellEach } from "../../command.ts";
import { findSession } from "../../find-session.ts";
import { openSessions } from "../../open-sessions.ts";
import { safeLine } from "../../render/agent-text.ts";
import { asTyped } from "../../render/as-typed.ts";
import { outcomeLooks, type Tone } from "../../render/paint.ts";
import { formatAge, lineCounts } from "../../render/quantities.ts";
import { shortId } from "../../../../ground/log/short-id.ts";
import type { Cell } from "../../render/table.ts";
import { fitLine } from "../../render/text-width.ts";
import { tableColumns, tableText } from "../../show-session.ts";
import type { Workspace } from "../../../../../plugin-sdk/workspace.ts";
import { basename } from "../../../../ground/platform/files/paths.ts";

/** `bulkhead session list`. */
export async function sessionList(call: Invocation): Promise<number> {
  if (call.options["worktrees"] === true) return await sessionWorktrees(call);
  await using opened = await openSessions(call);
  const query = queryOf(call);
  const before = query.before === undefined ? undefined : (await findSession(opened.sessions, query.before)).session_id;
  const rows = await opened.sessions.list({ ...query, before, facts: true });
  const first = rows.length > 0 ? undefined : (await opened.plugins()).find(({ enabled }) => enabled)?.id;
  return await tellEach(call, rows, () => {
    if (rows.length === 0) return asTyped(isFiltered(call) ? "No session matches." : noSession(first));
    const { terminal } = call;
    const width = widthOf(tableColumns(terminal));
    const isPipe = terminal.stdout.columns === 0;
    const costs = rows.map(({ facts }) => facts?.cost == null ? "" : formatCost(facts.cost, facts.currency));
    const widest = Math.max(...costs.map((text) => text.length));
    const cells = rows.map((row, index) =>
      cellsOf(row, { now: Date.now(), width, isPipe, cost: costs[index]!.padStart(widest) })
    );
    return tableText(cells, { terminal, head: heads[width] });
  });
}

/** Columns of the table, as far as the terminal has room: a narrow one says what a session does, or else its prompt. */
const heads = {
  slim: ["session", "state", "adapter", "step or prompt"],
  narrow: ["session", "state", "adapter", "age", "cost", "step or prompt"],
  middle: ["session", "state", "adapter", "age", "repository", "lines", "cost", "step or prompt"],
  wide: ["session", "state", "adapter", "age", "repository", "lines", "cost", "step", "prompt"],
} as const;

type Width = keyof typeof heads;

function widthOf(columns: number): Width {
  return columns < 60 ? "slim" : columns < 100 ? "narrow" : columns < 140 ? "middle" : "wide";
}

/** Columns that these cells may take in a terminal. */
const most = { adapter: 16, repository: 20, step: 32 };

function noSession(agent: string | undefined): string {
  const start = agent === undefined
    ? "See it at work: bulkhead demo\nTo use an agent of this machine: bulkhead setup"
    : `Start one: bulkhead run ${agent} "…"`;
  return `No session yet. ${start}`;
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

function cellsOf(
  row: SessionSummary,
  { now, width, isPipe, cost }: { now: number; width: Width; isPipe: boolean; cost: string },
): Cell[] {
  const cut = (text: string, columns: number) => isPipe ? safeLine(text) : fitLine(safeLine(text), columns);
  const isWide = width === "middle" || width === "wide";
  const lines = row.facts?.lines;
  const step = stepCell(row);
  const title: Cell = { text: safeLine(row.title), tone: "dim" };
  return [
    { text: shortId(row.session_id), tone: "bold" },
    isWide ? stateCell(row) : shortState(row),
    cut(row.adapter_id ?? row.facts?.queued?.adapter_id ?? "none yet", width === "slim" ? 10 : most.adapter),
    ...(width === "slim" ? [] : [formatAge(row.started_at, now)]),
    ...(isWide ? [cut(basename(row.workdir), most.repository), lines == null ? "" : lineCounts(lines)] : []),
    ...(width === "slim" ? [] : [cost]),
    ...(width !== "wide"
      ? [step ?? title]
      : [step === null ? "" : { ...step, text: cut(step.text, most.step) }, title]),
  ];
}

/** Says what a session asks, or does now; null for one that has ended, and where nothing is known. */
function stepCell({ state, waiting: [asked], turn, facts }: SessionSummary): { text: string; tone: Tone } | null {
  if (asked !== undefined) return { text: safeLine(asked.text), tone: "yellow" };
  const step = state === "running" && turn?.state !== "kept" ? facts?.step ?? null : null;
  return step === null ? null : { text: safeLine(step.text), tone: "plain" };
}

/** The state in one word: why a session ended says how. */
function shortState(row: SessionSummary): Cell {
  const { outcome, stop_reason, waiting } = row;
  if (outcome === null) return waiting.length > 0 ? { text: "waits", tone: "yellow" } : stateCell(row);
  return {
    text: stop_reason === null || outcome === "completed" ? outcome : stop_reason,
    tone: outcomeLooks[outcome][1],
  };
}

/** Formats a session's state as one word. */
export function stateCell({ outcome, stop_reason, waiting, turn, facts }: SessionSummary): Cell {
  if (outcome !== null) return { text: `${outcome} · ${stop_reason ?? ""}`, tone: outcomeLooks[outcome][1] };
  if (waiting.length > 0) return { text: "waits for an answer", tone: "yellow" };
  if (facts?.queued !== undefined) return { text: "queued", tone: "dim" };
  return turn?.state === "kept" ? { text: "kept", tone: "dim" } : { text: "running", tone: "cyan" };
}

async function sessionWorktrees(call: Invocation): Promise<number> {
  await using opened = await openSessions(call);
  const { terminal } = call;
  const now = Date.now();
  const [listed, sessions] = await Promise.all([opened.workspaces.list(), opened.sessions.list({ limit: 500 })]);
  const known = new Map(sessions.map((summary) => [summary.session_id, summary]));
  const workspaces = await Promise.all(listed.map(async (one) => {
    const isOld = one.state === "applied" || one.state === "discarded";
    const session = known.get(one.session_id) ??
      (isOld ? null : await opened.sessions.get(one.session_id).catch(() => null));
    return { ...one, title: session?.title ?? null, adapter_id: session?.adapter_id ?? null };
  }));
  const newest = workspaces.toSorted((a, b) => b.created_at.localeCompare(a.created_at));
  const rows = newest.map((one) => row(one, now));
  const head = ["session", "state", "adapter", "age", "repository", "prompt"];
  return await tellEach(
    call,
    workspaces,
    () => rows.length === 0 ? "No session has worked in a worktree." : tableText(rows, { terminal, head }),
  );
}

/** A worktree with the words by which a person knows its session; null where they are not known. */
type NamedWorkspace = Workspace & Pick<SessionSummary, "adapter_id"> & { title: string | null };

function row(
  { session_id, state, running, created_at, repository, title, adapter_id }: NamedWorkspace,
  now: number,
): Cell[] {
  const [text, tone] = running ? ["running", "yellow" as Tone] : looks[state];
  return [
    { text: shortId(session_id), tone: "bold" },
    { text, tone },
    safeLine(adapter_id ?? ""),
    formatAge(created_at, now),
    basename(repository),
    { text: safeLine(title ?? ""), tone: "dim" },
  ];
}

const looks: Readonly<Record<Workspace["state"], [text: string, tone: Tone]>> = {
  opening: ["cut off while opened", "red"],
  open: ["waits", "green"],
  applying: ["cut off while applied", "red"],
  applied: ["applied", "dim"],
  discarded: ["discarded", "dim"],
};
