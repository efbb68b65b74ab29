import fc from "fast-check";
import { expect, test } from "vitest";
import {
  addCount,
  type CountedSpan,
  countWithin,
  freeAgainAt,
  windows,
} from "../../../core/sessions/routing/rolling-counts.ts";

const start = Date.UTC(2026, 0, 1, 12, 0, 0);
/** What the window's own grain may count beside it. */
const grain = { minute: 1000, hour: 60_000, day: 900_000 } as const;

interface Request {
  afterMs: number;
  tokens: number;
}

const requests = fc.array(
  fc.record({ afterMs: fc.integer({ min: 0, max: 4_000_000 }), tokens: fc.nat(1000) }),
  { maxLength: 80 },
);

function counted(
  list: readonly Request[],
): { spans: CountedSpan[]; times: { at: number; tokens: number }[]; now: number } {
  let now = start;
  let spans: CountedSpan[] = [];
  const times = list.map(({ afterMs, tokens }) => {
    now += afterMs;
    spans = addCount(spans, { now, requests: 1, tokens });
    return { at: now, tokens };
  });
  return { spans, times, now };
}

test("a window never counts short, and counts too much by its own grain at most", () => {
  fc.assert(fc.property(requests, fc.nat(100_000), (list, later) => {
    const { spans, times, now: last } = counted(list);
    const now = last + later;
    for (const name of ["minute", "hour", "day"] as const) {
      const window = windows[name];
      const exact = (ms: number) => times.filter(({ at }) => at > now - ms);
      const { requests, tokens } = countWithin(spans, window, now);
      expect(requests).toBeGreaterThanOrEqual(exact(window).length);
      expect(requests).toBeLessThanOrEqual(exact(window + grain[name]).length);
      expect(tokens).toBeGreaterThanOrEqual(exact(window).reduce((sum, one) => sum + one.tokens, 0));
    }
  }));
});

test("the spans of a day are few, however much is counted", () => {
  let spans: CountedSpan[] = [];
  for (let second = 0; second < 100_000; second += 7) {
    spans = addCount(spans, { now: start + second * 1000, requests: 3 });
  }
  expect(spans.length).toBeLessThan(120 + 75 + 98);
  expect(countWithin(spans, windows.minute, start + 100_000_000).requests).toBeGreaterThanOrEqual(24);
});

test("freeAgainAt says when the window has room, and not before", () => {
  fc.assert(fc.property(requests, fc.integer({ min: 1, max: 30 }), (list, limit) => {
    const { spans, now } = counted(list);
    for (const window of Object.values(windows)) {
      const free = freeAgainAt(spans, { window, of: "requests", limit, now })!;
      const full = countWithin(spans, window, now).requests >= limit;
      expect(free > now).toBe(full);
      if (!full) continue;
      expect(countWithin(spans, window, free).requests).toBeLessThan(limit);
      expect(countWithin(spans, window, free - 1).requests).toBeGreaterThanOrEqual(limit);
    }
  }));
});

test("a ceiling of none is never free, and a time that lies ahead says nothing", () => {
  expect(freeAgainAt([], { window: windows.day, of: "tokens", limit: 0, now: start })).toBeNull();
  const ahead: CountedSpan = { at: start + 60_000, width_ms: 1000, requests: 5, tokens: 5 };
  expect(countWithin([ahead], windows.day, start)).toEqual({ requests: 0, tokens: 0 });
  expect(addCount([ahead], { now: start, requests: 1 })).toEqual([{
    at: start,
    width_ms: 1000,
    requests: 1,
    tokens: 0,
  }]);
});
