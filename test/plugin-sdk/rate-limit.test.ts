import { describe, expect, test } from "vitest";
import { defaultRateLimitPatterns, RateLimitDetector } from "../../plugin-sdk/rate-limit.ts";

const now = Date.UTC(2026, 10, 21, 22, 0, 0);
const detector = new RateLimitDetector([], { now: () => now });

describe("RateLimitDetector.detect", () => {
  test.each([
    "Rate limit reached",
    "rate-limit",
    "RATELIMIT",
    "Too Many Requests",
    "Quota exceeded for today",
    "please try again later",
    "HTTP 429",
    "You've hit your usage limit. Try again in 2 hours.",
    "Claude usage limit reached. Your limit will reset at 6pm (UTC).",
    "You've hit your session limit · resets 6pm (UTC)",
    "Claude AI usage limit reached|1795309200",
    "5-hour limit reached ∙ resets 3am",
    "You have exhausted your capacity on this model. Your quota will reset after 2s.",
    '{"error":{"type":"usage_limit_reached","resets_in_seconds":133107}}',
  ])("sees %j", (text) => expect(detector.detect(text)).toBe(true));

  test.each(["", "done", "error 4290", "a429b", "the rate is limited", "exceeded"])(
    "does not see %j",
    (text) => expect(detector.detect(text)).toBe(false),
  );

  test("takes more patterns beside the default ones, and answers a global one the same each time", () => {
    const own = new RateLimitDetector([/overloaded/g, "slow * please"]);
    expect(own.patterns).toEqual([...defaultRateLimitPatterns, /overloaded/g, "slow * please"]);
    expect([own.detect("overloaded"), own.detect("overloaded")]).toEqual([true, true]);
    expect(own.detect("429")).toBe(true);
  });

  test.each([
    ["slow*please", "SLOW down, Please", true],
    ["slow*please", "please, slow", false],
    ["(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaa!", false],
    ["(a+)+$", "x(A+)+$x", true],
    ["*limit*", "a limit", true],
  ])("reads the text pattern %j as a wildcard in %j", (pattern, text, seen) => {
    expect(new RateLimitDetector([pattern]).detect(text)).toBe(seen);
  });
});

describe("RateLimitDetector.extractWaitTime", () => {
  test.each([
    ["wait 30 seconds", 30],
    // The clock stands at Saturday, 22:00.
    ["weekly limit · resets Mon 12:00am (UTC)", 93_600],
    ["weekly limit · resets Mon 12:00am (America/New_York)", 111_600],
    ["Weekly limit reached ∙ resets Monday 9am (UTC)", 126_000],
    ["limit will reset on 2026-11-29 at 18:33Z", 678_780],
    ["Your quota will reset after 14h23m5s.", 51_785],
    ["resets in 6d 21h", 594_000],
    ["429 retry-after-ms=997000", 997],
    ['"retryDelay": "34s"', 34],
    ['"retryDelay":"34.074824224s"', 35],
    ['"resets_in_seconds":133107', 133_107],
    ["Retry after 1 week", 604_800],
    ["Retry after 3 fortnights", null],
    ["Please wait 1 second", 1],
    ["wait 5 minutes", 300],
    ["please wait for about 2 hours", 7200],
    ["retry after 60 seconds", 60],
    ["Retry-After: 120", 120],
    ['{"retry_after": 7}', 7],
    ['"retry-after":"15"', 15],
    ["retry-after: 1.5", 2],
    ["try again in 1.242s", 2],
    ["Please try again in 7m12s.", 432],
    ["try again in 1 hour and 30 minutes", 5400],
    ["retrying in 500ms", 1],
    ["resets in 2d", 172_800],
    ["Retry-After: Sun, 22 Nov 2026 00:29:00 GMT", 8940],
    ["limit resets at 2026-11-22T00:29:00Z", 8940],
    ["resets at 2026-11-22T02:29:00.500+02:00", 8940],
    ["x-ratelimit-reset: 1795307340", 8940],
    ['"resets_at": 1795307340000', 8940],
    ["usage limit reached|1795307340", 8940],
    ["resets 12:29am (UTC)", 8940],
    ["You hit your limit - resets 12:29 AM UTC", 8940],
    ["resets 1am (Europe/Berlin)", 7200],
    ["resets at 23:30 UTC", 5400],
    ["try again at Nov 22nd, 2026 12:29 AM UTC", 8940],
    ["Try again at November 22, 12:29am (UTC)", 8940],
    ["resets at 2026-11-21T21:00:00Z", 0],
  ])("reads %j", (text, seconds) => expect(detector.extractWaitTime(text)).toBe(seconds));

  test("takes a time without a zone in the zone of this machine", () => {
    const at = new Date(2026, 10, 22, 0, 29).getTime();
    const here = new RateLimitDetector([], { now: () => at - 60_000 });
    expect(here.extractWaitTime("try again at Nov 22nd, 2026 12:29 AM")).toBe(60);
    expect(here.extractWaitTime("resets 12:29am")).toBe(60);
  });

  test("takes a date without a year as the next such day", () => {
    expect(detector.extractWaitTime("resets Jan 2 at 10pm UTC")).toBe((Date.UTC(2027, 0, 2, 22) - now) / 1000);
  });

  test.each([
    "",
    "rate limit",
    "wait",
    "wait a few minutes",
    "wait 30",
    "took 30 seconds",
    "resets at some point",
    "resets 25:00",
    "resets 13pm",
    "resets 3",
    "resets 1am (Nowhere/Land)",
    "again at Foo 22nd, 2026 12:29 AM",
    "reset to version 2026",
  ])("gives null for %j", (text) => expect(detector.extractWaitTime(text)).toBeNull());

  test("stays quick on a hostile text of a megabyte", () => {
    const started = performance.now();
    for (
      const part of [
        "wait ",
        "resets at ",
        "retry-after: 1",
        "try again at Nov ",
        " 9:9:9",
        "reset_reset_",
        "429",
        "   ",
      ]
    ) {
      detector.extractWaitTime(part.repeat(1_000_000 / part.length));
      detector.detect(part.repeat(1_000_000 / part.length));
    }
    // Anything worse than linear would take minutes.
    expect(performance.now() - started).toBeLessThan(20_000);
  });
});
