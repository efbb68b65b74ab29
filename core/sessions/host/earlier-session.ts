import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { conversationLabelNames, type SessionHost } from "./session-host.ts";

/** The parts of an earlier session that a new one can take over. */
export interface EarlierSession {
  session_id: string;
  /** Without the values of its `env`. */
  requested: SessionRequest;
  /** The adapters that could take it, the first choice first. */
  candidates: string[];
  /** The adapter that took it last, and its agent's own id of the session; null where it told none. */
  adapter: string;
  agent_session_id: string | null;
}

/**
 * Reads from a session's events what a new session can take over.
 * @throws {BulkheadError} `not_found`, also for events that are not kept any more; `busy` while it runs
 */
export async function readEarlier(sessions: SessionHost, sessionId: string): Promise<EarlierSession> {
  const { state } = await sessions.get(sessionId);
  if (state === "running") {
    throw new BulkheadError("busy", `Cannot go on from session "${sessionId}": it is still running.`, {
      hint: "Wait for its end, or interrupt it.",
    });
  }
  let earlier: EarlierSession | null = null;
  for await (const { event, adapter } of (await sessions.open(sessionId)).events()) {
    if (event.type === "session_started") {
      const { requested, candidates, adapter_id } = event;
      earlier = { session_id: sessionId, requested, candidates, adapter: adapter_id, agent_session_id: null };
    }
    if (earlier === null) continue;
    if (event.type === "attempt_started") Object.assign(earlier, { adapter: event.adapter_id, agent_session_id: null });
    if (event.type !== "agent_info" || event.agent_session_id === undefined) continue;
    Object.assign(earlier, { adapter: adapter.id, agent_session_id: event.agent_session_id });
  }
  if (earlier !== null) return earlier;
  throw new BulkheadError("not_found", `Cannot go on from session "${sessionId}": its events are not kept any more.`);
}

/** Returns the request that runs an earlier session again, from its beginning. */
export function repeatedRequest({ requested }: Pick<EarlierSession, "requested">): SessionRequest {
  // The values of env are not recorded, and the key and the client's span stand for the earlier session.
  const { env: _env, idempotency_key: _key, traceparent: _span, labels, ...same } = requested;
  if (labels === undefined) return same;
  // The new session is no part of an editor's conversation.
  const isKept = ([name]: [string, string]) => conversationLabelNames.every((one) => one !== name);
  return { ...same, labels: Object.fromEntries(Object.entries(labels).filter(isKept)) };
}
