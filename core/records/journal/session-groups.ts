import type { NamedCount, SessionCounts, SessionQuery } from "../../../plugin-sdk/queries.ts";
import type { SessionSummary } from "../../../plugin-sdk/session-summary.ts";
import type { SessionFilter } from "./session-record.ts";
import { wordsOf } from "./session-conditions.ts";

/** Sessions that are alike in all that they are counted by. */
export interface SessionGroup extends Pick<SessionSummary, "state" | "outcome" | "adapter_id" | "labels"> {
  interrupted: boolean;
  folder: string;
  count: number;
}

/** Groups of one part of the sessions. */
export interface GroupPage {
  groups: SessionGroup[];
  /** The place of the next part; null after the last one. */
  next: NonNullable<SessionFilter["before"]> | null;
}

/** A session in a list, or its record in a journal. */
type Counted = Omit<SessionSummary, "waiting">;

function groupOfOne(session: Counted): SessionGroup {
  const { state, outcome, adapter_id, labels, stop_reason, workdir } = session;
  const folder = workdir.slice(workdir.lastIndexOf("/") + 1);
  return { state, outcome, adapter_id, labels, folder, interrupted: stop_reason === "interrupted", count: 1 };
}

/** Whether a session is one that a query is for. */
export function fitsQuery(summary: Counted, query: SessionQuery): boolean {
  const { since, until, task_id } = query;
  return missesOf(groupOfOne(summary), query).length === 0 && isFound(summary, wordsOf(query.text ?? "")) &&
    (task_id === undefined || task_id === summary.task_id) &&
    (since === undefined || summary.started_at >= since) && (until === undefined || summary.started_at < until);
}

function isFound(summary: Counted, words: readonly string[]): boolean {
  const { session_id, title, adapter_id, workdir, task_id, labels } = summary;
  const named = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  const all = [session_id, title, adapter_id, workdir, task_id, ...named].join("\n").toLowerCase();
  return words.every((word) => all.includes(word.toLowerCase()));
}

/** Names of one kind that are listed. */
const mostNames = 100;

/** Counts sessions by what a list can be narrowed to: each kind as if the query had no filter of that kind. */
export class SessionCounting {
  readonly #query: SessionQuery;
  readonly #states = { running: 0, completed: 0, blocked: 0, error: 0, interrupted: 0 };
  readonly #adapters = new Map<string, number>();
  readonly #folders = new Map<string, number>();
  readonly #labels = new Map<string, number>();
  #total = 0;

  constructor(query: SessionQuery) {
    this.#query = query;
  }

  add(groups: readonly SessionGroup[]): void {
    for (const group of groups) {
      const misses = missesOf(group, this.#query);
      if (misses.length > 1) continue;
      const [only] = misses;
      const isCounted = (filter: Filter) => only === undefined || only === filter;
      const { count, adapter_id } = group;
      if (only === undefined) this.#total += count;
      if (isCounted("state")) this.#states[stateOf(group)] += count;
      if (isCounted("adapter") && adapter_id !== null) add(this.#adapters, adapter_id, count);
      if (isCounted("folder")) add(this.#folders, group.folder, count);
      if (!isCounted("labels")) continue;
      for (const [name, value] of Object.entries(group.labels)) add(this.#labels, `${name}=${value}`, count);
    }
  }

  get counts(): SessionCounts {
    return {
      total: this.#total,
      states: { ...this.#states },
      adapters: listed(this.#adapters),
      folders: listed(this.#folders),
      labels: listed(this.#labels),
    };
  }
}

/** Counts these sessions as {@link SessionCounting} does. */
export function countSessions(sessions: readonly Counted[], query: SessionQuery): SessionCounts {
  const counting = new SessionCounting(query);
  counting.add(sessions.map(groupOfOne));
  return counting.counts;
}

type Filter = "state" | "adapter" | "folder" | "labels";

/** Names the filters of a query that a group does not pass. */
function missesOf(group: SessionGroup, query: SessionQuery): Filter[] {
  const { state, outcome, interrupted, adapter, folder, labels = {} } = query;
  const isOr = <T>(wanted: T | undefined, value: T | null) => wanted === undefined || wanted === value;
  const passes: Record<Filter, boolean> = {
    state: isOr(state, group.state) && isOr(outcome, group.outcome) && isOr(interrupted, group.interrupted),
    adapter: isOr(adapter, group.adapter_id),
    folder: isOr(folder, group.folder),
    labels: Object.entries(labels).every(([name, value]) =>
      Object.hasOwn(group.labels, name) && group.labels[name] === value
    ),
  };
  return (Object.keys(passes) as Filter[]).filter((name) => !passes[name]);
}

function stateOf({ state, outcome, interrupted }: SessionGroup): keyof SessionCounts["states"] {
  if (state === "running") return "running";
  return interrupted ? "interrupted" : outcome ?? "error";
}

function add(counts: Map<string, number>, name: string, count: number): void {
  counts.set(name, (counts.get(name) ?? 0) + count);
}

function listed(counts: ReadonlyMap<string, number>): NamedCount[] {
  return [...counts].map(([name, count]) => ({ name, count }))
    .sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1)).slice(0, mostNames);
}
