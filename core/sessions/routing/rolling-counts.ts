/** Counts of one span of time. */
export interface CountedSpan {
  /** Begin of the span, in milliseconds since 1970. */
  at: number;
  width_ms: number;
  requests: number;
  tokens: number;
}

/** Kinds of counts. */
export type Counted = "requests" | "tokens";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** The windows in which a plan may set ceilings. */
export const windows: { readonly minute: number; readonly hour: number; readonly day: number } = {
  minute,
  hour,
  day: 24 * hour,
};

/**
 * Width of the spans of each window, from the shortest. A window never counts too little, and at most one span too
 * much.
 */
const grains: readonly { window: number; width: number }[] = [
  { window: windows.minute, width: second },
  { window: windows.hour, width: minute },
  { window: windows.day, width: 15 * minute },
];

/**
 * Returns the spans with this count added, in order; old spans become wider, and those older than a day are dropped.
 */
export function addCount(
  spans: readonly CountedSpan[],
  { now, requests = 0, tokens = 0 }: { now: number; requests?: number; tokens?: number },
): CountedSpan[] {
  const last = spans.at(-1);
  if (last?.width_ms === second && now >= last.at && now < endOf(last)) {
    return [...spans.slice(0, -1), { ...last, requests: last.requests + requests, tokens: last.tokens + tokens }];
  }
  return mergeSpans([...spans, { at: now, width_ms: 0, requests, tokens }], now);
}

/** Merges spans into as few as keep each window's grain. Drops times in the future, which another clock wrote. */
export function mergeSpans(spans: readonly CountedSpan[], now: number): CountedSpan[] {
  const merged = new Map<number, CountedSpan>();
  for (const span of [...spans].sort((a, b) => a.at - b.at)) {
    if (span.at > now || endOf(span) <= now - windows.day) continue;
    const width_ms = Math.max(span.width_ms, widthAt(span.at, now));
    const at = span.width_ms === width_ms ? span.at : Math.floor(span.at / width_ms) * width_ms;
    const same = merged.get(at);
    if (same === undefined) merged.set(at, { ...span, at, width_ms });
    else {
      same.width_ms = Math.max(same.width_ms, width_ms);
      same.requests += span.requests;
      same.tokens += span.tokens;
    }
  }
  return [...merged.values()];
}

/** Sums the counts in the window that ends now. */
export function countWithin(spans: readonly CountedSpan[], window: number, now: number): Record<Counted, number> {
  const total = { requests: 0, tokens: 0 };
  for (const span of spans) {
    if (span.at > now || endOf(span) <= now - window) continue;
    total.requests += span.requests;
    total.tokens += span.tokens;
  }
  return total;
}

/** Returns when a window will hold fewer than `limit`; now if it already does, null if it never will. */
export function freeAgainAt(
  spans: readonly CountedSpan[],
  { window, of, limit, now }: { window: number; of: Counted; limit: number; now: number },
): number | null {
  if (limit <= 0) return null;
  let left = countWithin(spans, window, now)[of];
  if (left < limit) return now;
  const inside = spans.filter((span) => span.at <= now && endOf(span) > now - window);
  for (const span of inside.sort((a, b) => endOf(a) - endOf(b))) {
    left -= span[of];
    if (left < limit) return endOf(span) + window;
  }
  return now;
}

/** Returns the finest grain whose window still overlaps the span that would hold this time. */
function widthAt(at: number, now: number): number {
  const last = grains.length - 1;
  const fit = grains.findIndex(({ window }, index) => {
    const wider = grains[Math.min(index + 1, last)]!.width;
    return Math.floor(at / wider) * wider + wider > now - window;
  });
  return grains[fit === -1 ? last : fit]!.width;
}

function endOf({ at, width_ms }: CountedSpan): number {
  return at + width_ms;
}
