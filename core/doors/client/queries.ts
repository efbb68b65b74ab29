import type { AgentCapabilities } from "../../../plugin-sdk/capabilities.ts";
import type { Outcome } from "../../../plugin-sdk/result.ts";
import type { NeutralKind } from "../../../plugin-sdk/normalise.ts";
import type { SessionState } from "../../../plugin-sdk/session-summary.ts";

/** Options for the start of a session. */
export interface StartOptions {
  /** Id of an enabled adapter, a chain of them, or `auto`. */
  adapter?: string | readonly string[];
  /** Capabilities that the agent must have. */
  require?: AgentCapabilities;
  /** `git`, the default, compares the working directory before and after. */
  artifacts?: "git" | "none";
  /** Interrupts the session. */
  signal?: AbortSignal;
}

/** Filter and page of a list of sessions, the newest first. */
export interface RemoteSessionQuery {
  state?: SessionState;
  outcome?: Outcome;
  adapter?: string;
  /** The session must have all of these. */
  labels?: Readonly<Record<string, string>>;
  task_id?: string;
  /** Only sessions that began before this one: the last session of the page before. */
  before?: string;
  /** Default 50, at most 500. */
  limit?: number;
}

/** Filter for events; the end of a session and a gap always pass. */
export interface EventFilter {
  type?: readonly string[];
  kind?: readonly NeutralKind[];
  adapter?: readonly string[];
  /** Only for the events of all sessions: those of sessions with all these labels. */
  labels?: Readonly<Record<string, string>>;
}

/** The part of a stream of events to read. */
export interface RemoteEventQuery extends EventFilter {
  /** For one session: a `seq`; for all sessions: a `gseq`. Default: 0 for a session, the newest for all. */
  after?: number;
  /** For all sessions of a cluster: the `cursor` of the last event that is known, in place of `after`. */
  cursor?: string;
  signal?: AbortSignal;
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
