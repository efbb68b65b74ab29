import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import type { SessionSummary } from "../../../plugin-sdk/session-summary.ts";
import type { Journal } from "../../records/journal/journal.ts";
import { compareByAge, type SessionRecord } from "../../records/journal/session-record.ts";
import type { MergedLog } from "../session/merged-log.ts";
import type { RunSessionOptions, Session } from "./run-session.ts";
import type { LiveSession } from "./live-sessions.ts";
import type { ElsewhereSession, OtherJournals } from "./other-journals.ts";
import type { AgentsOptions, Routes } from "./routes.ts";
import type { EventQuery, SessionHandle, SessionHost } from "./session-host.ts";

/** What a {@link SessionHost} in this process works with. */
export interface SessionHostGround {
  journal: Journal;
  /** Of other hosts of the same state folder. */
  others: OtherJournals;
  log: MergedLog;
  /** A session that has not ended. */
  find(sessionId: string): LiveSession | undefined;
  runSession(request: SessionRequest, options?: RunSessionOptions): Promise<Session>;
  agents(options?: AgentsOptions): ReturnType<Routes["agents"]>;
}

const defaultLimit = 50;
const maxLimit = 500;

/** All sessions of this process's host, live ones from itself and others from its journal. */
export function openSessionHost(ground: SessionHostGround): SessionHost {
  const { journal, others, log, find } = ground;
  return {
    async start(request, options) {
      const session = await ground.runSession(request, options);
      // Read by its handle, a session need not hold its events for whoever would read it here.
      await session[Symbol.asyncIterator]().return?.();
      return handleOf(ground, session.id, session.result);
    },
    async list({ before, limit = defaultLimit, ...filter } = {}) {
      await log.written();
      const first = before === undefined ? null : await findSession(ground, before);
      const wanted = { ...filter, ...(first === null ? {} : { before: first.record }), limit: checkLimit(limit) };
      const records = [...await journal.sessions(wanted), ...await others.list(wanted)].sort(compareByAge);
      return records.slice(0, limit).map((record) => summaryOf(record, find(record.session_id)));
    },
    async get(sessionId) {
      await log.written();
      const { record } = await findSession(ground, sessionId);
      if (record.deleted !== null) throw deletedError(record);
      return summaryOf(record, find(sessionId));
    },
    async history(sessionId) {
      await log.written();
      const found = await findSession(ground, sessionId);
      if (found.record.deleted !== null) throw deletedError(found.record);
      return found.journal === null ? await journal.history(sessionId) : await others.history(found);
    },
    async open(sessionId) {
      await log.written();
      const found = await findSession(ground, sessionId);
      return found.journal === null ? handleOf(ground, sessionId) : elsewhereHandle(ground, found);
    },
    async delete(sessionId) {
      await log.written();
      const found = await findSession(ground, sessionId);
      const { record } = found;
      if (record.deleted !== null) throw deletedError(record);
      // One of an earlier host that could not be ended is run by nobody.
      const leftOpen = found.journal === null && find(sessionId) === undefined;
      if (record.state === "running" && !leftOpen) throw busyError(sessionId);
      if (found.journal !== null) await others.delete(found);
      else if (!(await journal.delete(sessionId, "client", { leftOpen }))) throw busyError(sessionId);
    },
    agents: (options) => ground.agents(options),
    events(query = {}) {
      const { after = 0 } = query;
      if (after > log.newest) throw beyond(after, log.newest);
      return log.subscribe(query);
    },
  };
}

type OwnSession = { record: SessionRecord; journal: null };

/** Where a session's record is: in this host's journal, which comes first, or in another one. */
async function findSession(
  { journal, others }: Pick<SessionHostGround, "journal" | "others">,
  sessionId: string,
): Promise<OwnSession | ElsewhereSession> {
  const record = await journal.session(sessionId);
  return record !== null ? { record, journal: null } : await others.find(sessionId) ?? unknownSession(sessionId);
}

/** A session of another host: it can be read, and its own host alone can stop or answer it. */
function elsewhereHandle({ others }: Pick<SessionHostGround, "others">, found: ElsewhereSession): SessionHandle {
  const { session_id: id, state } = found.record;
  const result = async (): Promise<SessionResult> => {
    for await (const { event } of others.events(found, {})) if (event.type === "session_ended") return event.result;
    throw deletedError((await others.find(id))?.record ?? found.record);
  };
  return {
    id,
    events: (query = {}) => others.events(found, query),
    result,
    async interrupt() {
      if (state === "ended") return await result();
      throw new BulkheadError("busy", `Cannot interrupt session "${id}": another host runs it.`, {
        hint: "Interrupt it where it was started.",
        details: { session_id: id },
      });
    },
    answer: () => Promise.resolve(false),
  };
}

/** One session's handle. Where it lives, its live result is known. */
function handleOf(ground: SessionHostGround, id: string, live?: Promise<SessionResult>): SessionHandle {
  const { find } = ground;
  const result = async () => await (live ?? find(id)?.result ?? endOf(ground, id));
  return {
    id,
    events: (query = {}) => eventsOf(ground, id, query),
    result,
    interrupt: () => {
      find(id)?.session.stop("interrupted", "The session was interrupted.");
      return result();
    },
    answer: (requestId, choice) => Promise.resolve(find(id)?.session.answer(requestId, choice) ?? false),
  };
}

/** Where one session's events are. */
type EventGround = Pick<SessionHostGround, "journal" | "log" | "find">;

/** A session's events after a `seq`. */
function eventsOf(
  ground: EventGround,
  sessionId: string,
  query: EventQuery,
): AsyncIterable<Envelope> {
  return {
    [Symbol.asyncIterator]() {
      let opening: Promise<AsyncIterator<Envelope, void>> | null = null;
      let events: AsyncIterator<Envelope, void> | null = null;
      return {
        async next() {
          opening ??= subscribe(ground, sessionId, query);
          events ??= await opening;
          return await events.next();
        },
        async return() {
          await (await opening)?.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}

async function subscribe(
  { journal, log, find }: EventGround,
  sessionId: string,
  { after = 0, signal }: EventQuery,
): Promise<AsyncIterator<Envelope, void>> {
  await log.written();
  const live = find(sessionId);
  // Read before the record is: what comes between them is then read as well.
  const now = journal.lastGseq;
  const record = await recordOf(journal, sessionId);
  const cursor = await journal.cursorOf(sessionId, after) ??
    (record.state === "running" ? now : record.last_gseq - 1);
  const where = { sessionId, after: cursor, afterSeq: after };
  const subscription = log.subscribe(signal === undefined ? where : { ...where, signal });
  // A session whose end could not be written has none in the journal, and nobody is to wait for it.
  const finish = () => subscription.finish();
  if (live === undefined) finish();
  else live.result.then(finish, finish);
  return subscription[Symbol.asyncIterator]();
}

/** The result of a session that has ended, or ends somewhere else, from its last event. */
async function endOf(ground: EventGround, sessionId: string): Promise<SessionResult> {
  await ground.log.written();
  const { last_seq, state } = await recordOf(ground.journal, sessionId);
  if (state === "running" && ground.find(sessionId) === undefined) throw leftOpenError(sessionId);
  for await (const { event } of eventsOf(ground, sessionId, { after: last_seq - 1 })) {
    if (event.type === "session_ended") return event.result;
    if (event.type === "gap") break;
  }
  const record = await recordOf(ground.journal, sessionId);
  if (record.deleted !== null) throw deletedError(record);
  throw new BulkheadError("journal_error", `The end of session "${sessionId}" is not in the journal.`, {
    hint: "Look with: bulkhead journal verify.",
  });
}

async function recordOf(journal: Journal, sessionId: string): Promise<SessionRecord> {
  const record = await journal.session(sessionId);
  return record ?? unknownSession(sessionId);
}

function unknownSession(sessionId: string): never {
  throw new BulkheadError("not_found", `There is no session "${sessionId}".`, {
    hint: "List those there are: bulkhead session list.",
    details: { session_id: sessionId },
  });
}

function summaryOf(record: SessionRecord, live: LiveSession | undefined): SessionSummary {
  const { first_gseq: _first, last_gseq: _last, deleted: _deleted, ...known } = record;
  return { ...known, waiting: known.state === "running" ? live?.session.waiting ?? [] : [] };
}

function checkLimit(limit: number): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= maxLimit) return limit;
  throw new BulkheadError("invalid_request", `Cannot list ${limit} sessions: a page holds 1 to ${maxLimit}.`);
}

function deletedError({ session_id, deleted }: SessionRecord): BulkheadError {
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

function busyError(sessionId: string): BulkheadError {
  return new BulkheadError("busy", `Cannot delete session "${sessionId}": it is still running.`, {
    hint: `Interrupt it first: bulkhead session interrupt ${sessionId}.`,
    details: { session_id: sessionId },
  });
}

/** Nothing would come for long, and then not all. */
function beyond(after: number, newest: number): BulkheadError {
  return new BulkheadError("invalid_request", `Cannot go on after event ${after}: the newest is ${newest}.`, {
    hint: "The number is another journal's. Begin with 0 for all that is held, or without a number for what comes.",
    details: { after, newest },
  });
}
