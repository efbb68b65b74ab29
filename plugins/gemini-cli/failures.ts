import { type ErrorEvent, type ExitMeaning, RateLimitDetector } from "bulkhead/plugin-sdk";

const limits = new RateLimitDetector();

/** Signs in what the CLI says when it fails, the first that fits counts. */
const signs: readonly [sign: Pick<RegExp, "test">, code: string, recoverable: boolean][] = [
  [/prompt is too long|token count.{0,80}exceeds|maximum number of tokens|context window/i, "context_overflow", false],
  [{ test: (said) => limits.detect(said) }, "rate_limit", true],
  // Another agent may be able to; this one needs a person first.
  [/\b40[13]\b|unauthenticated|permission.?denied|api.?key|auth method/i, "unavailable", false],
  [/\bSAFETY\b|prohibited.?content|\bBLOCKLIST\b|\bRECITATION\b|\bSPII\b/, "refused", false],
  [/\b5\d\d\b|\bINTERNAL\b|overloaded|high demand/i, "unavailable", true],
  [/terminated|fetch failed|socket|network|ECONN|Unexpected end of JSON|without a finish reason/i, "unavailable", true],
];

/** Returns a failed session as an event, with the code that its text shows; `fatal` for an unknown text. */
export function failureOf(message: string): ErrorEvent {
  const [, code, recoverable] = signs.find(([sign]) => sign.test(message)) ?? [null, "fatal", false];
  return { type: "error", code, message, recoverable };
}

/** Lines of each session: about the terminal that it has none of, and that it asks no one, which its flag says. */
export const noise =
  /^(?:YOLO mode is enabled\.|\[STARTUP\] |Warning: (?:Basic terminal|256-color support|True color))/;

/** The CLI exits with the HTTP status modulo 256, or with a number of its own. */
export function meaningOfCode(code: number | null): ExitMeaning {
  switch (code) {
    case 0:
      return "completed";
    case 429 % 256:
      return "rate_limit";
    // No login, or none that it could use.
    case 41:
    case 401 % 256:
    case 403 % 256:
    case 500 % 256:
    case 502 % 256:
    case 503 % 256:
    case 504 % 256:
      return "unavailable";
    default:
      return "fatal";
  }
}
