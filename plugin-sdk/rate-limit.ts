import { readDuration } from "./durations.ts";
import { readPointInTime } from "./points-in-time.ts";

/**
 * A sign of a rate limit: a regular expression, or a text that is looked for without regard to case,
 * where `*` stands for anything.
 */
export type RateLimitPattern = RegExp | string;

/** The signs every detector looks for. */
export const defaultRateLimitPatterns: readonly RegExp[] = [
  /rate.?limit/i,
  /too many requests/i,
  /quota exceeded/i,
  /try again later/i,
  /\b429\b/,
];

/** Options of {@link RateLimitDetector}. */
export interface RateLimitDetectorOptions {
  /** Milliseconds since 1970, from which reset times are counted; default `Date.now`. */
  now?: () => number;
}

/**
 * Tells a rate limit from what an agent's program says when it fails, and how long it asks to wait.
 * Show it error output and failure fields only, never the agent's prose or what its tools print.
 */
export class RateLimitDetector {
  /** All signs, the default ones first. */
  readonly patterns: readonly RateLimitPattern[];
  readonly #now: () => number;

  /** `extra` are signs beside {@link defaultRateLimitPatterns}. */
  constructor(extra: readonly RateLimitPattern[] = [], options: RateLimitDetectorOptions = {}) {
    this.patterns = [...defaultRateLimitPatterns, ...extra];
    this.#now = options.now ?? (() => Date.now());
  }

  /** Whether the text shows any of the signs. */
  detect(text: string): boolean {
    return this.patterns.some((pattern) => shows(text, pattern));
  }

  /**
   * Whole seconds the text asks to wait, rounded up; null if it does not say.
   *
   * It reads spans ("wait 5 minutes", "try again in 1h 30m"), the header `retry-after` of RFC 9110 (seconds or
   * a date), and times of a reset (RFC 3339, unix seconds, "resets 12:29am (UTC)"), where a past one is 0.
   */
  extractWaitTime(text: string): number | null {
    const span = readDuration(text);
    if (span !== null) return Math.ceil(span);
    const now = this.#now();
    const at = readPointInTime(text, now);
    return at === null ? null : Math.max(0, Math.ceil((at - now) / 1000));
  }
}

function shows(text: string, pattern: RateLimitPattern): boolean {
  // search() disregards `lastIndex`, so a pattern with the flag `g` answers the same each time.
  return typeof pattern === "string" ? contains(text, pattern) : text.search(pattern) >= 0;
}

function contains(text: string, wildcard: string): boolean {
  const lower = text.toLowerCase();
  let from = 0;
  for (const part of wildcard.toLowerCase().split("*")) {
    const at = lower.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return true;
}
