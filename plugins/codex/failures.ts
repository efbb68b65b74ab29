import { type ErrorEvent, RateLimitDetector } from "bulkhead/plugin-sdk";

const limits = new RateLimitDetector();

/** Signs in what the CLI says when it fails, the first that fits counts. */
const signs: readonly [sign: Pick<RegExp, "test">, code: string, recoverable: boolean][] = [
  [/context window|context_length_exceeded|maximum context length/i, "context_overflow", false],
  [{ test: (said) => limits.detect(said) }, "rate_limit", true],
  // Another agent may be able to; this one needs a person first.
  [/\b40[13]\b|unauthorized|forbidden|not logged in|refresh token|authentication/i, "unavailable", false],
  [/usage polic|content polic|flagged|cyber_policy/i, "refused", false],
  [/\b5\d\d\b|high demand|overloaded|at capacity|server error/i, "unavailable", true],
  [/stream disconnected|transport error|network error|connection|timed? ?out/i, "unavailable", true],
];

/** Returns a failed turn as an event, with the code that its text shows; `fatal` for an unknown text. */
export function failureOf(message: string): ErrorEvent {
  const [, code, recoverable] = signs.find(([sign]) => sign.test(message)) ?? [null, "fatal", false];
  return { type: "error", code, message, recoverable };
}

/** True for a word that the CLI is about to try again. */
export function isRetry(message: string): boolean {
  return /^Reconnecting\b/i.test(message);
}
