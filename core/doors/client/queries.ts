import type { AgentCapabilities } from "../../../plugin-sdk/capabilities.ts";
import type { NeutralKind } from "../../../plugin-sdk/normalise.ts";
import type { EventQuery } from "../../../plugin-sdk/queries.ts";

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

/** Filter for events; the end of a session and a gap always pass. */
export interface EventFilter {
  type?: readonly string[] | undefined;
  kind?: readonly NeutralKind[] | undefined;
  adapter?: readonly string[] | undefined;
  /** Only for the events of all sessions: those of sessions with all these labels. */
  labels?: Readonly<Record<string, string>> | undefined;
}

/** The part of a stream of events to read. */
export interface RemoteEventQuery extends EventFilter, EventQuery {}

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
