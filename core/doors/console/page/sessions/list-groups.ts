import type { SessionCounts } from "../../../../../plugin-sdk/queries.ts";
import type { SessionSummary } from "../../../../../plugin-sdk/session-summary.ts";
import { type Standing, standingOf } from "../session-list.ts";
import { folderName } from "./short-path.ts";

/** Ways to group sessions, by their titles. */
export const groupings = { state: "State", agent: "Agent", repository: "Repository", day: "Day" } as const;

/** A way to group sessions. */
export type Grouping = keyof typeof groupings;

/** One group of the list, with its sessions in the order in which they are shown. */
export interface ListGroup {
  key: string;
  title: string;
  sessions: readonly SessionSummary[];
  /** The day of its sessions, as `YYYY-MM-DD` in the time of this place; only where they are grouped by it. */
  day?: string;
}

/** An agent that has said nothing for so long may be stuck. Milliseconds. */
export const silentMs = 5 * 60_000;

/** Milliseconds since a running session's last event; 0 for one that waits for a person, a slot or a message. */
export function silenceOf(
  session: SessionSummary,
  { now, queued }: { now: number; queued: ReadonlySet<string> },
): number {
  const at = session.facts?.last_event_at ?? null;
  if (at === null || standingOf(session, queued) !== "running") return 0;
  return Math.max(0, now - Date.parse(at));
}

interface GroupDeps {
  now: number;
  queued: ReadonlySet<string>;
}

/** Divides sessions into groups. What waits for a person comes first, then what may be stuck. */
export function grouped(
  { running, ended }: { running: readonly SessionSummary[]; ended: readonly SessionSummary[] },
  by: Grouping,
  deps: GroupDeps,
): ListGroup[] {
  if (by === "state") return byState(running, ended, deps);
  const groups = new Map<string, SessionSummary[]>();
  for (const session of [...running, ...ended]) {
    const key = keyOf(session, by);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [session]);
    else group.push(session);
  }
  const dayIn = ([first]: readonly SessionSummary[]) =>
    by === "day" && first !== undefined ? { day: dayOf(new Date(first.started_at)) } : {};
  return [...groups].map(([key, sessions]) => ({ key, title: key, sessions, ...dayIn(sessions) }));
}

function dayOf(at: Date): string {
  const two = (value: number) => String(value).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** Returns how many sessions of all that match are in a group, where the host counted them; else those that are here. */
export function countOf(
  { key, sessions }: ListGroup,
  { by, counts }: { by: Grouping; counts: SessionCounts | null },
): number {
  const names = by === "agent" ? counts?.adapters : by === "repository" ? counts?.folders : undefined;
  return Math.max(sessions.length, names?.find(({ name }) => name === key)?.count ?? 0);
}

function byState(
  running: readonly SessionSummary[],
  ended: readonly SessionSummary[],
  deps: GroupDeps,
): ListGroup[] {
  const states: Record<"waiting" | "silent" | "running" | "kept" | "queued", SessionSummary[]> = {
    waiting: [],
    silent: [],
    running: [],
    queued: [],
    kept: [],
  };
  for (const session of running) {
    const standing = standingOf(session, deps.queued);
    states[silenceOf(session, deps) >= silentMs ? "silent" : liveStates[standing] ?? "running"].push(session);
  }
  states.silent.sort((a, b) => silenceOf(b, deps) - silenceOf(a, deps));
  const groups = [
    { key: "waiting", title: "Waits for you", sessions: states.waiting },
    { key: "silent", title: "Silent for 5 minutes or more", sessions: states.silent },
    { key: "running", title: "Running", sessions: states.running },
    { key: "queued", title: "Waits for a slot", sessions: states.queued },
    { key: "kept", title: "Waits for a message", sessions: states.kept },
    { key: "ended", title: "Ended", sessions: ended },
  ];
  return groups.filter(({ sessions }) => sessions.length > 0);
}

const liveStates: Partial<Record<Standing, "waiting" | "kept" | "queued">> = {
  waiting: "waiting",
  kept: "kept",
  queued: "queued",
};

function keyOf(session: SessionSummary, by: Exclude<Grouping, "state">): string {
  if (by === "agent") return session.adapter_id ?? "No agent yet";
  if (by === "repository") return folderName(session.workdir);
  return new Date(session.started_at).toLocaleDateString(undefined, {
    weekday: "long",
    day: "numeric",
    month: "long",
    year: "numeric",
  });
}
