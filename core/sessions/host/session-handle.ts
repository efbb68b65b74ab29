import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import type { Journal } from "../../records/journal/journal.ts";
import type { SessionRecord } from "../../records/journal/session-record.ts";
import type { BatchedEvents } from "../session/envelope-batches.ts";
import type { LateEnd, LateEnds } from "../session/late-ends.ts";
import type { MergedLog } from "../session/merged-log.ts";
import type { Subscription } from "../session/subscription.ts";
import type { LiveSession } from "./live-sessions.ts";
import type { EventQuery } from "../../../plugin-sdk/queries.ts";
import type { HandleEventQuery, SessionHandle } from "./session-host.ts";

/** Collaborators of {@link sessionHandle}. */
export interface SessionHandleDeps {
  journal: Journal;
  log: MergedLog;
  lateEnds: Pick<LateEnds, "find" | "all" | "demandBeginning">;
  /** Returns a session of this host that has not ended. */
  find(sessionId: string): LiveSession | undefined;
}

/** Makes the handle of a session of this host's journal. Pass `live` for one that was just started: it is read faster. */
export function sessionHandle(deps: SessionHandleDeps, id: string, live?: LiveSession): SessionHandle {
  const { find, lateEnds } = deps;
  const result = async () => await (live?.result ?? find(id)?.result ?? lateEnds.find(id)?.result ?? endOf(deps, id));
  return {
    id,
    events: (query = {}) => (live && firstReaderOf(deps, live, query)) ?? eventsOf(deps, id, query),
    result,
    interrupt: () => {
      find(id)?.session.stop("interrupted", "The session was interrupted.");
      return result();
    },
    answer: (requestId, choice) => Promise.resolve(find(id)?.session.answer(requestId, choice) ?? false),
  };
}

function firstReaderOf(
  { journal, log }: Pick<SessionHandleDeps, "journal" | "log">,
  live: LiveSession,
  query: EventQuery,
): AsyncIterable<Envelope> | null {
  const events = live.firstReader(query);
  // A reader waits for the first event; without one the log may wait for a fuller batch. Where the disk is waited for, a
  // short agent's first words come sooner in one batch with the opening than after it.
  if (events !== null && !journal.waitsForDisk) void log.written();
  return events;
}

/**
 * A session's events after a `seq`.
 * @throws {BulkheadError} `journal_error` where only the end is missing, which could not be written yet
 */
function eventsOf(deps: SessionHandleDeps, sessionId: string, query: HandleEventQuery): BatchedEvents {
  const late = deps.lateEnds.find(sessionId);
  if (late !== undefined && (query.after ?? 0) >= late.endSeq - 1) throw late.error;
  const open = () => subscribe(deps, sessionId, query);
  return {
    [Symbol.asyncIterator]: () => opened(async () => (await open())[Symbol.asyncIterator]()),
    batches: () => opened(async () => (await open()).batches()),
  };
}

/** An iterator that is opened when its first value is asked for. */
function opened<T>(open: () => Promise<AsyncIterator<T, void>>): AsyncIterator<T, void> {
  let opening: Promise<AsyncIterator<T, void>> | null = null;
  let values: AsyncIterator<T, void> | null = null;
  return {
    async next() {
      opening ??= open();
      values ??= await opening;
      return await values.next();
    },
    async return() {
      await (await opening)?.return?.();
      return { done: true, value: undefined };
    },
  };
}

async function subscribe(
  deps: SessionHandleDeps,
  sessionId: string,
  { after = 0, signal, readAhead }: HandleEventQuery,
): Promise<Subscription> {
  const { journal, log, lateEnds, find } = deps;
  await log.written();
  const live = find(sessionId);
  // Read before the record is: what comes between them is then read as well.
  const now = journal.lastGseq;
  const record = await recordOf(deps, sessionId);
  const cursor = await journal.cursorOf(sessionId, after) ??
    (record.state === "running" ? now : record.last_gseq - 1);
  const where = { sessionId, after: cursor, afterSeq: after, readAhead };
  const subscription = log.subscribe(signal === undefined ? where : { ...where, signal });
  // A session whose end could not be written has none in the journal: a reader must not wait for it.
  const finish = () => subscription.finish();
  const fail = (error: unknown) => subscription.fail(error);
  const late = lateEnds.find(sessionId);
  if (live !== undefined) live.result.then(finish, fail);
  else if (late !== undefined) fail(late.error);
  else finish();
  return subscription;
}

/** The result of a session that has ended, or ends somewhere else, from its last event. */
async function endOf(deps: SessionHandleDeps, sessionId: string): Promise<SessionResult> {
  await deps.log.written();
  const { last_seq, state } = await recordOf(deps, sessionId);
  if (state === "running" && deps.find(sessionId) === undefined) throw leftOpenError(sessionId);
  for await (const { event } of eventsOf(deps, sessionId, { after: last_seq - 1 })) {
    if (event.type === "session_ended") return event.result;
    if (event.type === "gap") break;
  }
  const record = await recordOf(deps, sessionId);
  if (record.deleted !== null) throw deletedError(record);
  throw new BulkheadError("journal_error", `The end of session "${sessionId}" is not in the journal.`, {
    hint: "Look with: bulkhead journal verify.",
  });
}

/**
 * Returns what the journal knows of a session.
 * @throws {BulkheadError} `not_found`, `journal_error` where its beginning could not be written
 */
async function recordOf(
  { journal, lateEnds }: Pick<SessionHandleDeps, "journal" | "lateEnds">,
  sessionId: string,
): Promise<SessionRecord> {
  const record = await journal.session(sessionId);
  if (record === null) lateEnds.demandBeginning(sessionId);
  return record ?? unknownSession(sessionId);
}

/** Shows a session as ended whose end only this host knows yet. */
export function withLateEnd(record: SessionRecord, late: LateEnd | undefined): SessionRecord {
  if (late === undefined || record.state === "ended") return record;
  const { outcome, stop_reason } = late.result;
  return { ...record, state: "ended", ended_at: late.endedAt, outcome, stop_reason, last_seq: late.endSeq };
}

/** Throws the error for a session that was never here. */
export function unknownSession(sessionId: string): never {
  throw new BulkheadError("not_found", `There is no session "${sessionId}".`, {
    hint: "List the sessions: bulkhead session list.",
    details: { session_id: sessionId },
  });
}

/** Makes the error for a session whose events are gone. */
export function deletedError({ session_id, deleted }: SessionRecord): BulkheadError {
  const how = deleted?.by === "retention" ? "was removed by the journal's retention" : "was deleted";
  return new BulkheadError("not_found", `Session "${session_id}" ${how}.`, {
    details: { session_id, deleted_at: deleted?.at ?? null, deleted_by: deleted?.by ?? null },
  });
}

/** The error for a session that runs as far as the journal tells, and that no host runs. */
export function leftOpenError(sessionId: string): BulkheadError {
  return new BulkheadError(
    "journal_error",
    `Session "${sessionId}" has no end: its beginning cannot be read, or its end not be written.`,
    {
      hint: `No host runs it. Look with "bulkhead journal verify", or delete it: bulkhead session delete ${sessionId}.`,
      details: { session_id: sessionId },
    },
  );
}
