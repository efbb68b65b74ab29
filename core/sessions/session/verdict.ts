import { type ErrorCode, type ErrorData, isErrorCode } from "../../../plugin-sdk/errors.ts";
import type { CompletedEvent, ErrorEvent } from "../../../plugin-sdk/events.ts";
import type { StopReason } from "../../../plugin-sdk/result.ts";
import { shortText } from "../../../plugin-sdk/short-text.ts";
import { saidByAdapter } from "../../ground/errors/said-by-adapter.ts";

/** Longest error message: it is repeated in several events and in the result. */
const maxMessage = 4096;
const maxCode = 256;

/** Evidence of how a session ended. */
interface Evidence {
  /** Why the host stopped it, if it did. The first reason is kept. */
  stopped: { reason: StopReason; error: ErrorData } | null;
  /** Error of the worker or the guest. */
  failure: ErrorData | null;
  /** The adapter's last word. */
  lastWord: CompletedEvent | ErrorEvent | null;
  /** Why the host refused a last word of the adapter, if it did. */
  refusedEnd: string | null;
}

/** Verdict on a session. */
export interface Verdict {
  stop_reason: StopReason;
  error?: ErrorData;
}

/** Decides how a session ended: the host's reason, a failure, the adapter's last word; without one it has failed. */
export function reachVerdict(evidence: Evidence): Verdict {
  const verdict = judge(evidence);
  if (verdict.error === undefined) return verdict;
  return { ...verdict, error: { ...verdict.error, message: shortText(verdict.error.message, maxMessage) } };
}

function judge({ stopped, failure, lastWord, refusedEnd }: Evidence): Verdict {
  if (stopped) return { stop_reason: stopped.reason, error: stopped.error };
  if (failure) return { stop_reason: reasonFor(failure.code), error: failure };
  if (lastWord?.type === "completed") {
    if (lastWord.success) return { stop_reason: "end_turn" };
    return { stop_reason: "fatal", error: { code: "fatal", message: lastWord.output || "The agent said it failed." } };
  }
  if (lastWord?.type === "error") return spokenError(lastWord);
  const message = refusedEnd === null
    ? "The adapter ended without saying whether the work was done."
    : `The adapter's last event was refused: ${refusedEnd}`;
  return { stop_reason: "fatal", error: { code: "fatal", message } };
}

function spokenError({ code, message }: ErrorEvent): Verdict {
  const details = { agent_code: shortText(code, maxCode) };
  if (code === "refused") {
    return { stop_reason: "refused", error: { code: "fatal", message, details } };
  }
  if (isErrorCode(code)) {
    const error = saidByAdapter({ code, message });
    return { stop_reason: reasonFor(error.code), error };
  }
  return { stop_reason: "fatal", error: { code: "fatal", message, details } };
}

const reasons: { readonly [C in ErrorCode]?: StopReason } = {
  timeout: "timeout",
  idle_timeout: "idle_timeout",
  interrupted: "interrupted",
  rate_limit: "rate_limit",
  unavailable: "unavailable",
  busy: "unavailable",
  quarantined: "unavailable",
  binary_missing: "unavailable",
  env_missing: "unavailable",
  git_missing: "unavailable",
  host_closed: "interrupted",
  host_restarted: "host_restarted",
  machine_lost: "machine_lost",
  crash: "crash",
  output_invalid: "output_invalid",
  out_of_memory: "crash",
  unresponsive: "crash",
  protocol_violation: "crash",
};

function reasonFor(code: ErrorCode): StopReason {
  return reasons[code] ?? "fatal";
}

/** Returns the code of the error with which the host stops a session for a reason. */
export function codeOfStop(reason: StopReason): ErrorCode {
  if (reason === "timeout" || reason === "idle_timeout" || reason === "interrupted") return reason;
  return reason.startsWith("budget_") ? "budget_exceeded" : "fatal";
}

/** Work of an agent before it failed. */
export interface WorkDone {
  tool_calls: number;
  /** Paths, relative to the working directory. */
  changed: string[];
}

const shownPaths = 20;

/** Explains in an error why the host did not retry: the agent would do its work a second time on top of the first. */
export function withWork(error: ErrorData, { tool_calls, changed }: WorkDone): ErrorData {
  const calls = tool_calls === 1 ? "made 1 tool call" : `made ${tool_calls} tool calls`;
  const files = changed.length === 1 ? "changed 1 file" : `changed ${changed.length} files`;
  const did = [...(tool_calls > 0 ? [calls] : []), ...(changed.length > 0 ? [files] : [])].join(" and ");
  return {
    ...error,
    message: `${error.message} It was not tried again, because the agent had ${did} already.`,
    hint:
      "Check the changes, then run it again: with retry: always on top of them, or with workspace: worktree from the start.",
    details: { ...error.details, tool_calls, changed: changed.slice(0, shownPaths) },
  };
}

const loginWords =
  /\b401\b|unauthori[sz]ed|unauthenticated|authentica|\blog(?:ged)? ?in\b|\bsign in\b|api key|credentials/i;
const missingWords =
  /not found|no (?:such|previous)|does not exist|unknown|no .{0,40}\b(?:session|conversation|thread)/i;

/**
 * Adds a hint to an error of an agent that was not logged in, or did not know the conversation that it was to continue.
 * @param hint says which settings its program has; undefined where that is no question
 */
export function withSettingsHint(
  error: ErrorData,
  { hint, continues }: { hint: string | undefined; continues: boolean },
): ErrorData {
  const isMeant = loginWords.test(error.message) || continues && missingWords.test(error.message);
  if (hint === undefined || !isMeant) return error;
  return { ...error, hint: [error.hint, hint].filter(Boolean).join(" ") };
}
