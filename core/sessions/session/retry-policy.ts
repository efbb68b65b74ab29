import type { ErrorCode, ErrorData } from "../../../plugin-sdk/errors.ts";
import { listOf } from "../../../plugin-sdk/json-fields.ts";
import type { Candidate } from "./admitted.ts";

/** Classes of failure. */
type FailureClass = "timeout" | "rate_limit" | "unavailable" | "crash" | "fatal";

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
  // The adapter never ran, so another one may.
  bundle_failed: "unavailable",
  load_failed: "unavailable",
  adapter_incomplete: "unavailable",
  adapter_initialization: "unavailable",
};

/** Returns the class of a failure; one without a class is `fatal`. */
export function failureClass({ code, details }: ErrorData): FailureClass {
  // A refusal is the agent's answer.
  if (details?.["agent_code"] === "refused") return "fatal";
  return classes[code] ?? "fatal";
}

/** Whether an agent has turned out not to continue, or not to copy, a session of its own. Its model has got nothing. */
export function lacksSession({ code, details }: ErrorData, field: "continue_from" | "fork"): boolean {
  return code === "unsupported" && listOf(details?.["fields"]).includes(field);
}

/** A failed attempt and its circumstances. */
export interface FailedAttempt {
  error: ErrorData;
  /** Attempts on this adapter so far, including this one. */
  tries: number;
  /** Wait that the agent or its program asked for, in milliseconds; null if it asked for none. */
  waitMs: number | null;
  /** True when the adapter itself says that a retry is useless. */
  hopeless: boolean;
  /** Milliseconds until the session's total deadline. */
  timeLeftMs: number;
  /** Next candidate: the same adapter through its next access mode, another adapter, or none. */
  next: "access_mode" | "adapter" | null;
  retry: "never" | "safe" | "always";
}

/** Action after a failed attempt. */
export type NextStep = { act: "retry"; wait_ms: number } | { act: "next" } | { act: "give_up" };

/** Most attempts on one adapter, over all classes of failure. */
export const maxTries = 5;
const defaultRateLimitWaitMs = 60_000;
const backoffMs = [2000, 4000, 8000, 16_000] as const;
const backoffCapMs = 16_000;
const jitter = 0.2;

/**
 * Chooses the action after a failed attempt by its class: timeouts and crashes back off, rate limits wait as long as
 * the agent said, an unavailable agent and a wait that is not known or too long lead to the next adapter. Fatal failures
 * and refusals end the session.
 * @param random from 0 up to 1
 */
export function nextStep(failed: FailedAttempt, random: () => number = Math.random): NextStep {
  const kind = failureClass(failed.error);
  if (failed.retry === "never" || kind === "fatal") return { act: "give_up" };
  const elsewhere: NextStep = failed.next === null ? { act: "give_up" } : { act: "next" };
  if (kind === "unavailable" || failed.hopeless || failed.tries >= maxTries) return elsewhere;
  // Another access mode is not limited yet, and another agent may begin now where no one knows when this one may.
  const isUnknown = failed.waitMs === null && failed.next !== null;
  if (kind === "rate_limit" && (failed.next === "access_mode" || isUnknown)) return { act: "next" };
  const wait_ms = kind === "rate_limit" ? failed.waitMs ?? defaultRateLimitWaitMs : backoff(failed.tries, random);
  return wait_ms > failed.timeLeftMs ? elsewhere : { act: "retry", wait_ms };
}

function backoff(tries: number, random: () => number): number {
  const base = backoffMs[Math.min(tries, backoffMs.length) - 1] ?? backoffCapMs;
  return Math.round(Math.min(base * (1 - jitter + 2 * jitter * random()), backoffCapMs));
}

/** The candidate that is tried next. */
interface NextCandidate {
  index: number;
  /** The same adapter through another access mode, or another adapter. */
  through: "access_mode" | "adapter";
}

/** Returns the next candidate; null without one. Another mode of the same adapter helps only against a limit. */
export function nextCandidate(
  candidates: readonly Pick<Candidate, "plugin">[],
  index: number,
  failure: FailureClass,
): NextCandidate | null {
  const { id } = candidates[index]!.plugin;
  const after = candidates[index + 1];
  if (after?.plugin.id === id && failure === "rate_limit") return { index: index + 1, through: "access_mode" };
  const other = candidates.findIndex(({ plugin }, at) => at > index && plugin.id !== id);
  return other < 0 ? null : { index: other, through: "adapter" };
}
