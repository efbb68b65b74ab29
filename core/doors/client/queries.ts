import type { AgentCapabilities } from "../../../plugin-sdk/capabilities.ts";
import type { Outcome } from "../../../plugin-sdk/result.ts";
import type { NeutralKind } from "../../../plugin-sdk/normalise.ts";
import type { SessionState } from "../../../plugin-sdk/session-summary.ts";

/** Options for the start of a session. */
export interface StartOptions {
  /** Id of an enabled adapter, a chain of them, or `auto`. */
  adapter?: string | readonly string[] | undefined;
  /** Capabilities that the agent must have. */
  require?: AgentCapabilities | undefined;
  /** `git`, the default, compares the working directory before and after. */
  artifacts?: "git" | "none" | undefined;
  /** Interrupts the session. */
  signal?: AbortSignal | undefined;
}

/** Filter and page of a list of sessions, the newest first. */
export interface RemoteSessionQuery {
  state?: SessionState | undefined;
  outcome?: Outcome | undefined;
  adapter?: string | undefined;
  /** The session must have all of these. */
  labels?: Readonly<Record<string, string>> | undefined;
  task_id?: string | undefined;
  /** Only sessions that began before this one: the last session of the page before. */
  before?: string | undefined;
  /** Default 50, at most 500. */
  limit?: number | undefined;
}

/** Filter for events; the end of a session and a gap always pass. */
export interface EventFilter {
  type?: readonly string[] | undefined;
  kind?: readonly NeutralKind[] | undefined;
  adapter?: readonly string[] | undefined;
  /** Only for the events of all sessions: those of sessions with all these labels. */
  labels?: Readonly<Record<string, string>> | undefined;
}

/** The part of a stream of events to read. */
export interface RemoteEventQuery extends EventFilter {
  /** For one session: a `seq`; for all sessions: a `gseq`. Default: 0 for a session, the newest for all. */
  after?: number | undefined;
  /** For all sessions of a cluster: the `cursor` of the last event that is known, in place of `after`. */
  cursor?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** Formats a query for the API; leaves out names without a value. */
export function queryText(values: Readonly<Record<string, unknown>>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) continue;
    if (name === "labels") {
      for (const [label, text] of Object.entries(value as object)) params.append("label", `${label}=${text}`);
    } else if (Array.isArray(value)) { for (const one of value) params.append(name, String(one)); }
    else params.append(name, String(value));
  }
  const text = params.toString();
  return text === "" ? "" : `?${text}`;
}
