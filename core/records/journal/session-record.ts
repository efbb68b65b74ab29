import type { SessionQuery } from "../../../plugin-sdk/queries.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { countOf, fieldsOrNone, stringOf } from "../../../plugin-sdk/json-fields.ts";
import { type Outcome, type StopReason, stopReasons } from "../../../plugin-sdk/result.ts";
import type { SessionSummary } from "../../../plugin-sdk/session-summary.ts";

/** Actor that deleted a session's events: a client, or the journal's limits on age and size. */
export type DeletedBy = "client" | "retention";

/** One session as known from the journal's tables, without reading its events. */
export interface SessionRecord extends Omit<SessionSummary, "waiting" | "turn" | "pending" | "facts"> {
  /** Cost of a session that has ended; null where that is not known. */
  cost: number | null;
  currency: string | null;
  /** Model of a session that has ended, as its usage names it; null where that is not known. */
  model: string | null;
  /** The session that it goes on from in its conversation; null for the first. */
  follows_session: string | null;
  /** Number in the conversation of its last turn. */
  last_turn: number;
  /** Its start, or that of an earlier session where the clock was ahead then: a list goes by the order of events. */
  sorted_at: string;
  first_gseq: number;
  /** Number of its last event; for a running session, of its first. */
  last_gseq: number;
  /** Set for a tombstone: its events are gone, and only ids, numbers and times are left. */
  deleted: { at: string; by: DeletedBy } | null;
}

/** Sort key of sessions, across all journals. */
type SessionAge = Pick<SessionRecord, "sorted_at" | "first_gseq" | "session_id">;

/** Orders sessions, of one journal or of several, the newest first; no two are the same. */
export function compareByAge(one: SessionAge, other: SessionAge): number {
  return compare(other.sorted_at, one.sorted_at) || other.first_gseq - one.first_gseq ||
    compare(other.session_id, one.session_id);
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** Filter of a journal's sessions, listed newest first; tombstones are never listed. */
export interface SessionFilter extends Omit<SessionQuery, "before" | "limit" | "facts"> {
  /** Only sessions that began before this time, and had not ended then. */
  over?: string | undefined;
  /** Only sessions of this conversation. */
  conversation_id?: string | undefined;
  /** Only sessions that begin a conversation and go on from another one. */
  is_fork?: true | undefined;
  /** Only sessions after this one in the order of {@link compareByAge}, from any journal. */
  before?: SessionAge | undefined;
  limit: number;
}

/** A part of a table in the order of {@link compareByAge}: the rows after one, down to another one and with it. */
export interface SessionStretch {
  before: SessionAge | undefined;
  downTo: SessionAge | null;
}

/** The part of a filter that counts keep for all kinds. */
export type SessionSpan = Pick<SessionFilter, "text" | "since" | "until" | "task_id">;

/** Facts of a session from its first event on. */
export interface SessionOpening extends Pick<SessionRecord, "conversation_id" | "follows_session" | "last_turn"> {
  workdir: string;
  title: string;
  task_id: string | null;
  labels: Record<string, string>;
  started_at: string;
}

/** Outcome of a session. */
export interface SessionEnding {
  outcome: Outcome;
  stop_reason: StopReason;
  ended_at: string;
  adapter_id: string;
}

/** Reads the opening from a session's first envelope; fields missing in a damaged one are empty. */
export function openingOf({ event, ts, session_id }: Envelope): SessionOpening {
  const { workdir, task_id, labels, ...started } = fieldsOrNone(event.type === "session_started" ? event : null);
  const { conversation_id, session_id: follows_session, turn } = fieldsOrNone(started["follows"]);
  const { prompt: said, content } = fieldsOrNone(started["requested"]);
  const prompt = stringOf(said);
  const texts = Object.entries(fieldsOrNone(labels)).filter((label): label is [string, string] =>
    typeof label[1] === "string"
  );
  return {
    workdir: stringOf(workdir) ?? "",
    title: titleOf(prompt ?? ""),
    task_id: stringOf(task_id),
    labels: Object.fromEntries(texts),
    started_at: ts,
    conversation_id: stringOf(conversation_id) ?? session_id,
    follows_session: stringOf(follows_session),
    // A session without a prompt waits for its first turn.
    last_turn: (countOf(turn) ?? 0) + (prompt === "" && content === undefined ? 0 : 1),
  };
}

/** Reads the ending from a session's last envelope; null for any other envelope, and for one without an outcome. */
export function endingOf({ event, ts, adapter }: Envelope): SessionEnding | null {
  if (event.type !== "session_ended") return null;
  const { outcome, stop_reason } = fieldsOrNone(event.result);
  if (!isOutcome(outcome) || !isStopReason(stop_reason, outcome)) return null;
  return { outcome, stop_reason, ended_at: ts, adapter_id: adapter.id };
}

function isOutcome(value: unknown): value is Outcome {
  return typeof value === "string" && Object.hasOwn(stopReasons, value);
}

function isStopReason(value: unknown, outcome: Outcome): value is StopReason {
  return (stopReasons[outcome] as readonly unknown[]).includes(value);
}

const titleLength = 100;

/** Returns the beginning of a prompt, on one line. */
export function titleOf(prompt: string): string {
  // A prompt may be megabytes long and begin with nothing but blanks.
  const line = prompt.slice(0, 4096).replace(/[\s\p{Cc}]+/gu, " ").trim();
  const characters = Array.from(line.slice(0, 2 * titleLength));
  if (characters.length <= titleLength) return line.slice(0, 2 * titleLength);
  return `${characters.slice(0, titleLength - 1).join("")}…`;
}
