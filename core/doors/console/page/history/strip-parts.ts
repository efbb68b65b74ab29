import type { SessionSummary } from "../../../../../plugin-sdk/session-summary.ts";

/** A look at the past: how many days it shows, and the length of one of its parts. */
export interface StripScale {
  days: number;
  partMs: number;
}

/** Scales by the words of their buttons. */
export const stripScales: Readonly<Record<string, StripScale>> = {
  "1 day": { days: 1, partMs: 15 * 60_000 },
  "7 days": { days: 7, partMs: 3_600_000 },
  "30 days": { days: 30, partMs: 6 * 3_600_000 },
};

/** When a session ran. */
type Ran = Pick<SessionSummary, "started_at" | "ended_at">;

/** The time that a strip shows, in milliseconds. Its parts follow one another from `from`. */
export interface Strip {
  from: number;
  to: number;
  partMs: number;
  /** Of each part, the most sessions that ran at once in it. */
  counts: number[];
  /** Local midnights, as parts of the whole, each with the name of the day that begins. */
  days: { at: number; name: string }[];
}

const weekdays = new Intl.DateTimeFormat("en", { weekday: "short" });

/** Returns when a strip begins: at a midnight here, so many days ago. */
export function stripBegin({ days }: StripScale, now: Date): Date {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - (days - 1));
}

/** Counts which sessions ran when, from the first midnight to the end of today. */
export function stripOf(sessions: readonly Ran[], { days, partMs }: StripScale, now: Date): Strip {
  const midnights = Array.from(
    { length: days + 1 },
    (_, at) => new Date(now.getFullYear(), now.getMonth(), now.getDate() - (days - 1) + at).getTime(),
  );
  const [from, to] = [midnights[0] ?? 0, midnights.at(-1) ?? 0];
  const length = Math.ceil((to - from) / partMs);
  const counts = Array.from({ length }, () => 0);
  for (const [at, running] of runningOver(sessions, now.getTime())) {
    for (let part = placeIn(at.start); part <= placeIn(at.end); part++) {
      if (part >= 0 && part < length) counts[part] = Math.max(counts[part] ?? 0, running);
    }
  }
  const named = midnights.slice(0, -1).map((midnight) => ({
    at: (midnight - from) / (to - from),
    name: `${weekdays.format(midnight)} ${new Date(midnight).getDate()}`,
  }));
  return { from, to, partMs, counts, days: named };

  function placeIn(time: number): number {
    return Math.floor((time - from) / partMs);
  }
}

/** Yields the stretches of time in which the same number of sessions ran; none where none did. */
function* runningOver(sessions: readonly Ran[], now: number): Generator<[{ start: number; end: number }, number]> {
  const changes = sessions.flatMap((session) => {
    const start = Date.parse(session.started_at);
    const end = session.ended_at === null ? now : Date.parse(session.ended_at);
    return [{ at: start, by: 1 }, { at: Math.max(start, end), by: -1 }];
  });
  // Begins come first, so that a session that ended at once was there.
  changes.sort((a, b) => a.at - b.at || b.by - a.by);
  let running = 0;
  for (const [at, change] of changes.entries()) {
    running += change.by;
    if (running > 0) yield [{ start: change.at, end: changes[at + 1]?.at ?? change.at }, running];
  }
}

/** Whether a session ran at a time or began in the part of the strip after it. */
export function ranAt({ started_at, ended_at }: Ran, time: number, partMs: number): boolean {
  return Date.parse(started_at) < time + partMs && (ended_at === null || Date.parse(ended_at) >= time);
}
