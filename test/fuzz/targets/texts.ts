import { redact } from "../../../core/ground/log/redact.ts";
import { readDuration } from "../../../plugin-sdk/durations.ts";
import { splitText } from "../../../plugin-sdk/lines.ts";
import { readPointInTime } from "../../../plugin-sdk/points-in-time.ts";
import { RateLimitDetector } from "../../../plugin-sdk/rate-limit.ts";
import { promise, type Target } from "../target.ts";

const detector = new RateLimitDetector();
const secret = { name: "TOKEN", value: "s3cr3t-v4lue-0123456789" };

/** Texts of agents in which something is looked for. */
export const textTargets: readonly Target[] = [
  {
    name: "rate-limit-text",
    weight: 8,
    seeds: [
      "Rate limit exceeded, try again in 5 minutes",
      "retry-after: 120",
      "Retry-After: Wed, 21 Oct 2026 07:28:00 GMT",
      "Your limit resets at 3pm (Europe/Berlin)",
      "wait 1h 30m 5s",
    ],
    tokens: [
      "wait ",
      "retry-after: ",
      "resets at ",
      " seconds",
      " minutes",
      "429",
      "(",
      ")",
      "UTC",
      "99999999999",
      "3pm",
      "T00:00:00Z",
      "-",
    ],
    read(input) {
      detector.detect(input);
      const seconds = detector.extractWaitTime(input);
      if (seconds !== null) promise(Number.isFinite(seconds) && seconds >= 0, "a wait is a number of seconds");
      const duration = readDuration(input);
      if (duration !== null) promise(Number.isFinite(duration) && duration >= 0, "a duration is a number");
      const point = readPointInTime(input, 1_700_000_000_000);
      if (point !== null) promise(Number.isFinite(point), "a point in time is a number");
    },
  },
  {
    name: "redacted-text",
    weight: 4,
    seeds: [
      `the key is ${secret.value}.`,
      `Basic ${btoa(`me:${secret.value}`)}`,
      encodeURIComponent(`a b/${secret.value}`),
    ],
    tokens: [secret.value, secret.value.slice(0, 9), btoa(secret.value), "%73", "\n", "=="],
    read(input) {
      const clean = redact(input, [secret]);
      promise(!clean.includes(secret.value), "no secret is left");
    },
  },
  {
    name: "split-text",
    weight: 3,
    seeds: ["a".repeat(100), "\u{1f600}".repeat(20)],
    tokens: ["\u{1f600}", "\ud800", "\n", "a"],
    read(input) {
      const pieces = splitText(input, 10);
      promise(pieces.join("") === input, "the pieces are the text");
    },
  },
];
