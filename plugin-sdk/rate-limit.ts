import { readDuration } from "./durations.ts";
import { limitTerms, statesLimit } from "./limit-words.ts";
import { readPointInTime } from "./points-in-time.ts";
import { containsText } from "./text-pattern.ts";

/**
 * A sign of a rate limit: a regular expression, or a text that is searched without regard to case, where `*` stands for
 * anything.
 */
export type RateLimitPattern = RegExp | string;

/** Terms that every detector searches for, besides sentences that state a limit. */
export const defaultRateLimitPatterns: readonly RegExp[] = limitTerms;

/** Options of {@link RateLimitDetector}. */
export interface RateLimitDetectorOptions {
  /** Returns milliseconds since 1970, from which reset times are counted; default `Date.now`. */
  now?: () => number;
}

/**
 * Detects a rate limit in the failure output of an agent's program, and the wait it asks for. Pass it error output and
 * failure fields only, never the agent's prose or its tools' output.
 */
export class RateLimitDetector {
  /** All signs, the default ones first. */
  readonly patterns: readonly RateLimitPattern[];
  readonly #now: () => number;

  /** @param extra signs in addition to {@link defaultRateLimitPatterns} */
  constructor(extra: readonly RateLimitPattern[] = [], options: RateLimitDetectorOptions = {}) {
    this.patterns = [...defaultRateLimitPatterns, ...extra];
    this.#now = options.now ?? (() => Date.now());
  }

  /** Returns true if the text shows any of the signs, or states that a limit of a plan or a server is reached. */
  detect(text: string): boolean {
    return this.patterns.some((pattern) => shows(text, pattern)) || statesLimit(text);
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
  // search() ignores `lastIndex`, so a pattern with the flag `g` gives the same result each time.
  return typeof pattern === "string" ? containsText(text, pattern) : text.search(pattern) >= 0;
}
