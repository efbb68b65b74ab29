import process from "node:process";
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
    "You've hit your limit · resets 8pm (America/Indianapolis)",
    "You've hit your session limit · resets 3:45pm (Europe/London)",
    "You’ve hit your weekly limit · resets Mon 12:00am (America/New_York)",
    "Claude AI usage limit reached|1795309200",
    "5-hour limit reached ∙ resets 3am",
    "Opus weekly limit reached ∙ resets Oct 6, 1pm",
    "Weekly/Monthly Limit Exhausted. Your limit will reset at 2026-11-29 18:33:48",
    "Monthly usage limit reached. Resets in 12 days.",
    "You've hit your usage limit. Upgrade to Pro, or try again in 2 days 3 hours 5 minutes.",
    '{"error":{"type":"usage_limit_reached","resets_in_seconds":133107}}',
    "usageLimitExceeded",
    "Quota exceeded. Your quota will reset after 14h23m5s.",
    "You have exhausted your capacity on this model. Your quota will reset after 2s.",
    "Your limit resets at 9am tomorrow",
    "Rate limit reached. Limit 30000, Used 29000. Please try again in 6ms.",
    "使用上限に達しました。リセット: 2026-11-29T00:00:00Z",
    "You're out of extra usage · resets 3pm",
    "You've reached your monthly request limit",
    "Monthly request limit reached",
    "You have reached the limit for this month.",
    "The monthly usage limit for Amazon Q Developer has been reached",
    "ThrottlingException: Too many tokens, please wait before trying again.",
    "Request was throttled. Expected available in 40 seconds.",
    "Free allocated quota exceeded.",
    "Qwen OAuth quota exceeded: Your free daily quota has been reached.",
    "You exceeded your current quota, please check your plan and billing details",
    "RESOURCE_EXHAUSTED",
    "Resource has been exhausted (e.g. check quota).",
    "TerminalQuotaError",
    "You have reached your specified API usage limits. You will regain access on 2025-11-01 at 00:00 UTC.",
    "Key limit exceeded (daily limit).",
    "Spending cap reached resets 5am",
    "daily token limit reached",
    "You have exceeded your daily token limit",
    "exceeded retry limit, last status: 429 Too Many Requests",
    "HTTP 429",
    "status: 429",
    '{"code":429,"message":"x"}',
    "you (bob) have reached your weekly usage limit, please upgrade to continue",
    "You've used all your premium requests for this month",
    "insufficient_quota",
    "Your account has hit its limit",
    "session limit reached",
    "Usage limit reached for 5 hour. Your limit will reset at 2025-11-29 18:33:48",
    "You have exceeded your premium request allowance.",
    "You've reached your Fable 5 limit",
    "you've exceeded the call rate limit of your current pricing tier",
    "Requests per minute exceeded",
    "x-ratelimit-remaining-requests: 0",
    "You've reached your message limit until 3 PM",
    "This request would exceed your organization's rate limit of 8,000 output tokens per minute",
    "You've hit your org's monthly usage limit",
    "Plan limit reached: upgrade",
    "AI_APICallError: Free usage exceeded, add credits",
    "rateLimitExceeded",
    "You can't send more messages until your limit resets at 3pm",
    "Number of request tokens has exceeded your per-minute rate limit",
    "Limit reached · resets 5pm",
    "Too many requests",
    "weekly limit hit",
    "Your 5-hour usage limit is exhausted",
    "Concurrency limit exceeded for your plan",
    "已达到 5 小时的使用上限。您的限额将在 2026-11-29 18:33:48 重置。",
    "You have hit the rate limits",
    "You've hit your 5 hour limit",
    "Codex usage limit has been reached",
    "Daily limit exceeded",
    "per-day request limit reached",
    "Credit limit reached for your plan",
    "Token usage limit reached",
    "Error: You have reached your daily quota of 50 requests",
    "got 429, retrying",
    "You have used up your weekly limit",
    "OpenAI: too_many_requests",
  ])("sees %j", (text) => expect(detector.detect(text)).toBe(true));

  test.each([
    "",
    "a429b",
    "exceeded your context limit",
    "You have exceeded your context limit",
    "context limit reached",
    "Context window limit exceeded",
    "token limit exceeded",
    "Session token limit exceeded: 40000 tokens > 32000 limit",
    "tokens-per-message limit exceeded",
    "You've exceeded the token-per-message limit",
    "You exceeded your token per message limit",
    "output token limit reached",
    "max output tokens limit reached",
    "The answer reached the max_tokens limit",
    "You've reached the maximum length limit for this conversation",
    "message length limit exceeded",
    "file size limit exceeded",
    "exceeds your file size limit",
    "The file exceeds the limit of 10 MB",
    "turn limit reached",
    "Reached your max turns limit",
    "You've reached the limit of 25 turns",
    "Recursion limit of 25 reached without hitting a stop condition",
    "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",
    "memory limit exceeded",
    "Time limit exceeded",
    "disk quota exceeded",
    "EDQUOT: disk quota exceeded",
    "Your storage quota is exceeded",
    "exceeded retry limit, last status: 503",
    "Tool call limit reached",
    "Your input exceeds the model's limit",
    "prompt exceeds the limit of 200000 tokens",
    "limit_exceeded",
    "at foo (/a/b.ts:429:12)",
    "/a/b.ts:12:429",
    "line 429",
    "PR #429",
    "429 tokens",
    "took 429ms",
    "0.429",
    "error 4290",
    "generate limited output",
    "separate limits",
    "You've used 75% of your weekly limit · resets Mon",
    "weekly limit: 40% used, resets Monday",
    "You are approaching your usage limit",
    "If you hit your usage limit, you can upgrade",
    "You have not reached your limit",
    "x-ratelimit-remaining-requests: 4999",
    "x-ratelimit-limit-requests: 5000",
    "503 Service Unavailable, try again later",
    "RESOURCE_EXHAUSTED: Received message larger than max (5000000 vs. 4194304)",
    "the rate is limited",
    "done",
    "exceeded",
    "The maximum number of tokens per request is 8192",
    "Input length exceeds your model's context limit; upgrade",
    "input token limit exceeded. Try again with fewer",
    "Maximum iterations limit reached",
    "character limit exceeded",
    "Image size exceeds your upload limit",
    "Session turn limit reached",
    "max context tokens limit reached",
    "This conversation has reached its length limit",
    "Conversation limit: context is full",
    "You hit the context window limit. Please start a new session.",
    "You have reached your turn limit",
    "prompt limit exceeded",
    "step limit reached",
    "Your prompt is too long: 250000 tokens exceeds your limit of 200000 tokens",
    "You exceeded the maximum number of turns",
    "Reached your budget limit",
    "open file limit reached",
    "stack depth limit exceeded",
    "The connection limit was exceeded",
    "Found 429 matches",
    "the response hit the token limit",
    "Your answer hit the limit of output tokens",
    "request body limit exceeded",
    "api context limit exceeded",
    "ENOSPC: disk limit reached",
  ])("does not see %j", (text) => expect(detector.detect(text)).toBe(false));

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

  // It is Friday, 14:00 UTC, and so in this machine's zone.
  test.each([
    ["resets 3:45pm (Europe/London)", 6300],
    ["resets Mon 12:00am (America/New_York)", 226_800],
    ["resets Nov 30, 5pm (America/New_York)", 288_000],
    ["resets Dec 1 at 9am (UTC)", 327_600],
    ["Your limit will reset at 2026-11-29 18:33:48", 189_228],
    ["Monthly usage limit reached. Resets in 12 days.", 1_036_800],
    ["try again in 2 days 3 hours 5 minutes.", 183_900],
    ['"resets_in_seconds":133107', 133_107],
    ['"resets_at":1795442507,"resets_in_seconds":133107', 133_107],
    ["429 retry-after-ms=997000", 997],
    ['"retryDelay":"34.074824224s"', 35],
    ["reset after 14h23m5s.", 51_785],
    ["Your limit resets at 9am tomorrow", 68_400],
    ["try again in 6ms.", 1],
    ["Resets in 4 hr 12 min", 15_120],
    ["resets tomorrow at 09:00", 68_400],
    ["try again in an hour", 3600],
    ["try again in one hour", 3600],
    ["リセット: 2026-11-29T00:00:00Z", 122_400],
    ["limit will reset on 2026-11-29 at 18:33", 189_180],
    ["anthropic-ratelimit-requests-reset: 2026-11-27T15:00:00Z", 3600],
    ["Please try again after 14:30 UTC", 1800],
    ["try again after Fri Nov 27 2026 20:00:00 GMT+0000", 21_600],
    ["resets 11/29/2026, 6:00 PM", 187_200],
    ["resets 29.11.2026 18:00", 187_200],
    ["available at 2026-11-29T18:33:48+08:00", 160_428],
    ["Retry after 1 week", 604_800],
    ["Retry after 3 fortnights", null],
    ["resets in 6d 21h", 594_000],
    ["retry_delay {\n  seconds: 38\n}", 38],
    ["retryAfterMs: 1500", 2],
    ["retry_after_ms=1500", 2],
    ["retry_after_seconds: 30", 30],
    ["resetsInSeconds=7", 7],
    ['quotaResetDelay":"14h23m5.6s"', 51_786],
    ['quotaResetTimeStamp":"2026-11-27T20:00:00Z"', 21_600],
    ["resets in 02:15:30", 8130],
    ["Retry-After: 120", 120],
    ["retry-after: 30 x-request-id: abc", 30],
    ["Retry after 30 bananas", null],
    ["available in 40 seconds", 40],
    ["resets 5 hours from now", 18_000],
    ["30 minutes until reset", 1800],
    ["2 hours and 5 minutes until your limit resets", 7500],
    ["wait at least 5 minutes", 300],
    ["try again in about 2 hours", 7200],
    ["try again in two weeks", 1_209_600],
    ["resets in 1 month", 2_592_000],
    ["You will regain access on 2026-12-01 at 00:00 UTC", 295_200],
    ["resets at midnight UTC", 36_000],
    ["resets tonight at 11pm UTC", 32_400],
    ["resets on Monday", 208_800],
    ["resets Mon, Nov 30, 9:00 AM UTC", 241_200],
    ["resets 6pm (PST)", 43_200],
    ["resets at 6pm PT", 43_200],
    ["resets 6pm EST", 32_400],
    ["resets 6pm (XYZ)", null],
    ["resets Tuesday at 10:30 (Europe/Berlin)", 329_400],
    ["resets next Monday at 9am UTC", 241_200],
    ["renews on December 1", 295_200],
    ["access will be restored at 18:00 UTC", 14_400],
    ["您的限额将在 2026-11-29 18:33:48 重置", 189_228],
    ["resets 12am (America/Argentina/Buenos_Aires)", 46_800],
    ["Resets at 3:00 AM (GMT+2)", 39_600],
    ["resets 6 p.m. UTC", 14_400],
    ["resets in 45 min.", 2700],
    ["retry in 1.5 hours", 5400],
    ["try again in 3 bananas", null],
    ["resets at 2026-11-29 06:33 PM UTC", 189_180],
    ["resets Sat 28 Nov 09:00 UTC", 68_400],
    ["tomorrow at 09:00", 68_400],
    ["Limit resets Fri 9am (UTC)", 586_800],
    ["resets on 1st December at 9am UTC", 327_600],
    ["wait 1 minute and 30 seconds", 90],
    ["resets in 1 day, 2 hours", 93_600],
    ["x-ratelimit-reset-after: 30", 30],
    ["x-ratelimit-reset-requests: 6m0s", 360],
  ])("reads %j on a Friday", (text, seconds) => {
    const zone = process.env["TZ"];
    process.env["TZ"] = "UTC";
    try {
      const friday = new RateLimitDetector([], { now: () => Date.UTC(2026, 10, 27, 14) });
      expect(friday.extractWaitTime(text)).toBe(seconds);
    } finally {
      if (zone === undefined) delete process.env["TZ"];
      else process.env["TZ"] = zone;
    }
  });

  test("reads a time on the day on which the clocks change", () => {
    const eve = new RateLimitDetector([], { now: () => Date.UTC(2026, 9, 31, 12) });
    // New York leaves summer time on the 1st of November, at two.
    expect(eve.extractWaitTime("resets Nov 1 at 1am (America/New_York)")).toBe(17 * 3600);
    expect(eve.extractWaitTime("resets Nov 1 at 3am (America/New_York)")).toBe(20 * 3600);
  });

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
