import type { Envelope, SessionStartedEvent } from "../../plugin-sdk/envelope.ts";
import type { Outcome, StopReason } from "../../plugin-sdk/result.ts";
import type { SessionState, SessionSummary } from "../../plugin-sdk/session-summary.ts";

/** Who took a session's events away: a client, or the journal's age and size. */
export type DeletedBy = "client" | "retention";

/** One session as a journal knows it without reading its events. */
export interface SessionRecord extends Omit<SessionSummary, "waiting"> {
  first_gseq: number;
  /** Of its last event; of one that runs, of its first. */
  last_gseq: number;
  /** Its events are gone, and this is its tombstone: of what it was only ids, numbers and times are left. */
  deleted: { at: string; by: DeletedBy } | null;
}

/** Which sessions a journal lists, the newest first; tombstones are not among them. */
export interface SessionFilter {
  state?: SessionState;
  outcome?: Outcome;
  adapter?: string;
  /** All of these must be on the session. */
  labels?: Readonly<Record<string, string>>;
  task_id?: string;
  /** Only those whose first event came before this `gseq`. */
  before?: number;
  /** Only those that began before this time. RFC 3339, UTC. */
  begun_before?: string;
  limit: number;
}

/** What is known of a session from its first event on. */
export interface SessionOpening {
  workdir: string;
  title: string;
  task_id: string | null;
  labels: Record<string, string>;
  started_at: string;
}

/** How a session ended. */
export interface SessionEnding {
  outcome: Outcome;
  stop_reason: StopReason;
  ended_at: string;
  adapter_id: string;
}

/** What a session's first envelope says of it. */
export function openingOf({ event, ts }: Envelope): SessionOpening {
  if (event.type !== "session_started") return { workdir: "", title: "", task_id: null, labels: {}, started_at: ts };
  const { workdir, task_id, labels, requested }: SessionStartedEvent = event;
  return { workdir, title: titleOf(requested.prompt), task_id, labels, started_at: ts };
}

/** What a session's last envelope says of it; null for any other envelope. */
export function endingOf({ event, ts, adapter }: Envelope): SessionEnding | null {
  if (event.type !== "session_ended") return null;
  const { outcome, stop_reason } = event.result;
  return { outcome, stop_reason, ended_at: ts, adapter_id: adapter.id };
}

const titleLength = 100;

/** The beginning of a prompt on one line. */
export function titleOf(prompt: string): string {
  // A prompt may be megabytes long, and its beginning nothing but blanks.
  const line = prompt.slice(0, 4096).replace(/[\s\p{Cc}]+/gu, " ").trim();
  const characters = Array.from(line.slice(0, 2 * titleLength));
  if (characters.length <= titleLength) return line.slice(0, 2 * titleLength);
  return `${characters.slice(0, titleLength - 1).join("")}…`;
}
