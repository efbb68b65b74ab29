import type { AgentCapabilities } from "../../../plugin-sdk/capabilities.ts";
import type { Outcome } from "../../../plugin-sdk/result.ts";
import type { NeutralKind } from "../../../plugin-sdk/normalise.ts";
import type { SessionState } from "../../../plugin-sdk/session-summary.ts";

/** How a session is started. */
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

/** Which sessions a list holds, the newest first. */
export interface RemoteSessionQuery {
  state?: SessionState;
  outcome?: Outcome;
  adapter?: string;
  /** All of these must be on the session. */
  labels?: Readonly<Record<string, string>>;
  task_id?: string;
  /** Only sessions that began before this one: the last of the page before. */
  before?: string;
  /** Default 50, at most 500. */
  limit?: number;
}

/** Which events are wanted; the end of a session and a gap always are. */
export interface EventFilter {
  type?: readonly string[];
  kind?: readonly NeutralKind[];
  adapter?: readonly string[];
  /** Of all sessions' events only: those of sessions with all these labels. */
  labels?: Readonly<Record<string, string>>;
}

/** Start and end of reading a stream of events. */
export interface RemoteEventQuery extends EventFilter {
  /** Of one session: its `seq`; of all sessions: `gseq`. Default: 0 for a session, the newest for all. */
  after?: number;
  signal?: AbortSignal;
}

/** A query as the API takes it; names that are not set are left out. */
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
