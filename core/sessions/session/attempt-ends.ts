import type { HostEvent } from "../../../plugin-sdk/envelope.ts";
import type { ErrorData } from "../../../plugin-sdk/errors.ts";

/** The error of a session whose question got no answer. */
export function unanswered(what: string, ms: number): ErrorData {
  const why = ms === 0 ? "no client was there to answer it" : `no answer came within ${ms} ms`;
  return {
    code: "unanswered",
    message: `The session is blocked by ${what}: ${why}.`,
    hint:
      "Answer it while the session runs, or say beforehand how it is answered: approval, allowed_tools, tool_approvals.",
  };
}

/** The event of a worker that was lost. */
export function workerEvent({ code, message }: ErrorData): HostEvent {
  const state = code === "out_of_memory" ? "out_of_memory" : code === "crash" ? "crashed" : "killed";
  return { type: "worker", state, message };
}
