import { BulkheadError } from "../../../../../plugin-sdk/errors.ts";
import type { SessionSummary, WaitingRequest } from "../../../../../plugin-sdk/session-summary.ts";
import { shortId } from "../../../../ground/log/short-id.ts";
import { type Invocation, tell } from "../../command.ts";
import { findSession } from "../../find-session.ts";
import { openSessions } from "../../open-sessions.ts";
import { safeLine } from "../../render/agent-text.ts";

/** `bulkhead session answer <id> <choice>`. */
export async function sessionAnswer(call: Invocation): Promise<number> {
  await using opened = await openSessions(call);
  const { args: [typed = "", choice = ""], options } = call;
  const summary = await findSession(opened.sessions, typed);
  const { request_id } = requestOf(summary, options["request"]);
  const { session_id } = summary;
  const session = await opened.sessions.open(session_id);
  if (!(await session.answer(request_id, choice))) throw refused(summary, { request_id, choice });
  const text = `Answered ${safeLine(request_id)} of ${shortId(session_id)}: ${safeLine(choice)}`;
  return await tell(call, { session_id, request_id, choice }, text);
}

/** Returns the named request, or else the only one. */
function requestOf({ session_id, waiting }: SessionSummary, named: unknown): WaitingRequest {
  const found = typeof named === "string" ? waiting.filter(({ request_id }) => request_id === named) : waiting;
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  if (found.length > 1) {
    throw new BulkheadError("invalid_request", `Session "${session_id}" waits for ${found.length} answers.`, {
      hint: `Say which with --request: ${found.map(({ request_id }) => request_id).join(", ")}.`,
    });
  }
  throw new BulkheadError(
    "not_found",
    `Session "${session_id}" does not wait for ${typeof named === "string" ? `an answer to "${named}"` : "an answer"}.`,
  );
}

function refused(
  { session_id, waiting }: SessionSummary,
  { request_id, choice }: { request_id: string; choice: string },
): BulkheadError {
  const choices = waiting.find((one) => one.request_id === request_id)?.choices ?? [];
  return new BulkheadError("invalid_request", `Session "${session_id}" does not take "${choice}" as an answer.`, {
    hint: choices.length === 0 ? "It was answered meanwhile." : `It offers: ${choices.join(", ")}.`,
    details: { request_id, choices },
  });
}
