import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import type { SessionHistory } from "../../../plugin-sdk/session-history.ts";
import type { SessionSummary } from "../../../plugin-sdk/session-summary.ts";
import { type Api, call, callJson } from "./call-api.ts";
import { ClientError } from "./client-error.ts";
import { followEvents } from "./follow-events.ts";
import type { RemoteEventQuery } from "./queries.ts";
import type { Patience } from "./retried.ts";

/** One session of a remote host, running or ended. */
export interface RemoteSession {
  readonly id: string;
  /** Its events in order; ends after `session_ended`. Resumes by itself when the connection breaks. */
  events(query?: RemoteEventQuery): AsyncIterable<Envelope>;
  /** Resolves when it has ended; never rejects because the agent failed. */
  result(): Promise<SessionResult>;
  /** Stops it gracefully; returns the result of one that has ended. */
  interrupt(): Promise<SessionResult>;
  /** Answers a permission request or question; false when it is unknown, answered, or does not offer the choice. */
  answer(requestId: string, choice: string | null): Promise<boolean>;
  /** Returns its current state. */
  summary(): Promise<SessionSummary>;
  /** Returns its grants, its attempts and the programs that were started for it. */
  history(): Promise<SessionHistory>;
}

/** A session in the answer of `GET /v1/sessions/{id}`. */
type ShownSession = SessionSummary & SessionHistory & { result: SessionResult | null };

interface RemoteSessionOptions {
  api: Api;
  patience: Patience;
  /** Gives an unreachable host up once it aborts. */
  leave?: AbortSignal | undefined;
  /** Called when the host has said that the session has ended. */
  onEnd?: (() => void) | undefined;
}

/** Refers to a session of a host by its id; sends no request yet. */
export function remoteSession(id: string, options: RemoteSessionOptions): RemoteSession {
  const { api, patience, leave, onEnd = () => {} } = options;
  const path = `/v1/sessions/${encodeURIComponent(id)}`;
  let told: SessionResult | null = null;

  const events = (query: RemoteEventQuery = {}): AsyncIterable<Envelope> =>
    followEvents({
      api,
      path: `${path}/events`,
      query: { ...query, after: query.after ?? 0 },
      numberOf: ({ seq, event }) => event.type === "gap" ? event.to_seq : seq,
      isLast({ event }) {
        if (event.type !== "session_ended") return false;
        told = event.result;
        onEnd();
        return true;
      },
      patience,
      leave,
    });

  const result = async (): Promise<SessionResult> => {
    // A host that shuts down is gone once it has reported its last session's end.
    if (told !== null) return told;
    const shown = await callJson<ShownSession>(api, path);
    if (shown.result !== null) {
      onEnd();
      return shown.result;
    }
    for await (const { event } of events({ after: shown.last_seq, type: ["session_ended"] })) {
      if (event.type === "session_ended") return event.result;
    }
    const ended = await callJson<ShownSession>(api, path);
    if (ended.result !== null) return ended.result;
    throw new ClientError({
      code: "protocol_violation",
      message: `The events of session "${id}" ended before it did.`,
    });
  };

  return {
    id,
    events,
    result,
    async interrupt() {
      await call(api, `${path}/interrupt`, { method: "POST" });
      return await result();
    },
    async answer(requestId, choice) {
      try {
        await call(api, `${path}/answers`, { method: "POST", body: { request_id: requestId, choice } });
        return true;
      } catch (error) {
        if (error instanceof ClientError && error.code === "conflict") return false;
        throw error;
      }
    },
    async summary() {
      const { result: _, grants: _g, attempts: _a, children: _c, ...summary } = await callJson<ShownSession>(api, path);
      return summary;
    },
    async history() {
      const { grants, attempts, children } = await callJson<ShownSession>(api, path);
      return { grants, attempts, children };
    },
  };
}
