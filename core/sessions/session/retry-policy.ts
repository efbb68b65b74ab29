import type { ErrorCode, ErrorData } from "../../../plugin-sdk/errors.ts";

/** The classes of failure that the engine knows. */
export type FailureClass = "timeout" | "rate_limit" | "unavailable" | "crash" | "fatal";

const classes: { readonly [C in ErrorCode]?: FailureClass } = {
  timeout: "timeout",
  idle_timeout: "timeout",
  rate_limit: "rate_limit",
  crash: "crash",
  out_of_memory: "crash",
  unresponsive: "crash",
  protocol_violation: "crash",
  unavailable: "unavailable",
  busy: "unavailable",
  quarantined: "unavailable",
  binary_missing: "unavailable",
  env_missing: "unavailable",
  unsupported: "unavailable",
  network_error: "unavailable",
  // It never ran, so another adapter may.
  bundle_failed: "unavailable",
  load_failed: "unavailable",
  adapter_incomplete: "unavailable",
  adapter_initialization: "unavailable",
};

/** The class of a failure; what is in no other one is `fatal`. */
export function failureClass({ code, details }: ErrorData): FailureClass {
  // A refusal is the agent's answer.
  if (details?.["agent_code"] === "refused") return "fatal";
  return classes[code] ?? "fatal";
}

/** An attempt that failed, and what stands around it. */
export interface FailedAttempt {
  error: ErrorData;
  /** Attempts on this adapter so far, this one included. */
  tries: number;
  /** What the agent or its program said to wait, in milliseconds; null where it said nothing. */
  waitMs: number | null;
  /** The adapter itself says that it is of no use to try it again. */
  hopeless: boolean;
  /** Until the session's total deadline. */
  timeLeftMs: number;
  /** What could be tried in its place: the same adapter through its next access mode, another adapter, nothing. */
  next: "access_mode" | "adapter" | null;
  retry: "never" | "safe" | "always";
}

/** What to do after a failed attempt. */
export type NextStep = { act: "retry"; wait_ms: number } | { act: "next" } | { act: "give_up" };

/** Attempts on one adapter, over all classes of failure. */
export const maxTries = 5;
const defaultRateLimitWaitMs = 60_000;
const backoffMs = [2000, 4000, 8000, 16_000] as const;
const backoffCapMs = 16_000;
const jitter = 0.2;

/**
 * What to do after a failed attempt, by its class: time-outs and crashes back off, rate limits wait what the agent
 * said, what is unavailable goes to the next adapter, and so does a wait that is longer than the time left. Fatal
 * failures and refusals end the session.
 * @param random from 0 up to 1
 */
export function nextStep(failed: FailedAttempt, random: () => number = Math.random): NextStep {
  const kind = failureClass(failed.error);
  if (failed.retry === "never" || kind === "fatal") return { act: "give_up" };
  const elsewhere: NextStep = failed.next === null ? { act: "give_up" } : { act: "next" };
  if (kind === "unavailable" || failed.hopeless || failed.tries >= maxTries) return elsewhere;
  // Another way to the same agent is not limited yet.
  if (kind === "rate_limit" && failed.next === "access_mode") return { act: "next" };
  const wait_ms = kind === "rate_limit" ? failed.waitMs ?? defaultRateLimitWaitMs : backoff(failed.tries, random);
  return wait_ms > failed.timeLeftMs ? elsewhere : { act: "retry", wait_ms };
}

function backoff(tries: number, random: () => number): number {
  const base = backoffMs[Math.min(tries, backoffMs.length) - 1] ?? backoffCapMs;
  return Math.round(Math.min(base * (1 - jitter + 2 * jitter * random()), backoffCapMs));
}
