import type { AccessMode, AccessModeStatus, QuotaWindow, RateLimits } from "../../../plugin-sdk/access-modes.ts";
import { omitEmpty } from "../../../plugin-sdk/optional-fields.ts";
import type { KeyProblem } from "./access-key.ts";
import { type Counted, type CountedSpan, countWithin, freeAgainAt, windows } from "./rolling-counts.ts";

/** Use of one access mode, as the hosts of a state folder know it. */
export interface ModeUse {
  spans: readonly CountedSpan[];
  /** Milliseconds since 1970 at which a reported limit ends; null when none was reported. */
  limitedUntil: number | null;
  /** Limits that the provider told last; absent: none. */
  quota?: readonly QuotaWindow[] | undefined;
}

/** An access mode with its current state. */
export interface AccessModeState {
  mode: AccessMode;
  status: AccessModeStatus;
  /** The key that it lacks; absent where it lacks none. */
  lock?: KeyProblem;
  /** True when a ceiling of the day is reached: waiting a little does not help. */
  exhausted: boolean;
  /** Requests that the tightest ceiling leaves; null where the plan sets none. */
  remaining: number | null;
}

/** Use of a mode without any counts. */
export const unused: ModeUse = { spans: [], limitedUntil: null };

const ceilings: readonly { limit: keyof RateLimits; window: number; of: Counted }[] = [
  { limit: "requests_per_minute", window: windows.minute, of: "requests" },
  { limit: "requests_per_hour", window: windows.hour, of: "requests" },
  { limit: "requests_per_day", window: windows.day, of: "requests" },
  { limit: "tokens_per_day", window: windows.day, of: "tokens" },
];

/**
 * Computes the state of a mode from counts and reported limits. `said` is the adapter's own status, which can only make
 * it worse: the host keeps the counters. A mode of an agent that cannot be used (`usable: false`), or without its key, is
 * `unavailable`.
 */
export function accessModeState(
  mode: AccessMode,
  use: ModeUse,
  { now, usable = true, said = null, lock = null }: {
    now: number;
    usable?: boolean;
    said?: AccessModeStatus | null;
    lock?: KeyProblem | null;
  },
): AccessModeState {
  const limits = limitsOf(mode);
  const reached = ceilings.flatMap(({ limit, window, of }) => {
    const most = limits[limit];
    if (most === undefined) return [];
    const free = freeAgainAt(use.spans, { window, of, limit: most, now });
    return free === now ? [] : [{ free, day: window === windows.day }];
  });
  const ends = reached.map(({ free }) => free);
  if (use.limitedUntil !== null && use.limitedUntil > now) ends.push(use.limitedUntil);
  if (said?.status === "rate_limited") ends.push(timeOf(said.reset_at));
  const limited = ends.length > 0;
  // One unknown end makes the whole unknown.
  const resetAt = !limited || ends.includes(null) ? null : Math.max(...ends.map((end) => end ?? 0), now);
  const offered = mode.enabled && usable && lock === null && said?.status !== "unavailable";
  return {
    mode,
    ...(lock === null ? {} : { lock }),
    exhausted: reached.some(({ day }) => day),
    remaining: remainingRequests(limits, use, now),
    status: {
      type: mode.type,
      status: !offered ? "unavailable" : limited ? "rate_limited" : "available",
      ...(lock === null || !mode.enabled ? {} : { missing_key: lock.name }),
      current: countWithin(use.spans, windows.day, now),
      limits,
      reset_at: resetAt === null ? null : new Date(resetAt).toISOString(),
      estimated_wait: limited ? (resetAt === null ? null : Math.ceil((resetAt - now) / 1000)) : offered ? 0 : null,
      ...omitEmpty({ quota: (use.quota ?? []).filter(({ reset_at }) => (timeOf(reset_at) ?? 0) > now) }),
    },
  };
}

/** Names a mode among those of one adapter; null stands for an adapter that lists none. */
export function accessModeKey(mode: AccessMode | null): string {
  if (mode === null) return "any";
  return mode.type === "subscription" ? `subscription:${mode.plan}` : `${mode.type}:${mode.model}`;
}

function remainingRequests(limits: RateLimits, { spans }: ModeUse, now: number): number | null {
  const left = ceilings.flatMap(({ limit, window, of }) => {
    const most = limits[limit];
    return of !== "requests" || most === undefined ? [] : [most - countWithin(spans, window, now).requests];
  });
  return left.length === 0 ? null : Math.max(Math.min(...left), 0);
}

function limitsOf(mode: AccessMode): RateLimits {
  return mode.type === "subscription" ? mode.rate_limits : {};
}

function timeOf(text: string | null): number | null {
  const time = text === null ? NaN : Date.parse(text);
  return Number.isNaN(time) ? null : time;
}
