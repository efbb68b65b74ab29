import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import type { ListedFacts, SessionSummary, WaitingRequest } from "../../../plugin-sdk/session-summary.ts";
import { EndedLines } from "../../records/journal/ended-lines.ts";
import { SessionCounting } from "../../records/journal/session-groups.ts";
import { groupPages } from "../../records/journal/session-pages.ts";
import {
  compareByAge,
  type SessionFilter,
  type SessionRecord,
  type SessionSpan,
} from "../../records/journal/session-record.ts";
import type { ElsewhereSession, ElsewhereSessions, ElsewhereSummary } from "./host-seams.ts";
import { deletedError, sessionHandle, type SessionHandleDeps, unknownSession, withLateEnd } from "./session-handle.ts";
import type { SessionQuery } from "../../../plugin-sdk/queries.ts";
import { addUpUsage, spentPages } from "./session-usage.ts";
import { stateOf } from "../session/session-turns.ts";
import type { SessionHandle, SessionHost } from "./session-host.ts";

/** Collaborators of {@link openSessionHost}. */
export interface SessionHostDeps extends SessionHandleDeps {
  /** Sessions of other hosts: of the same state folder, and of other machines. */
  others: readonly ElsewhereSessions[];
  start: SessionHost["start"];
  /** Called after a session was deleted. */
  onDeleted(sessionId: string): Promise<void>;
  attach: SessionHost["attach"];
  agents: SessionHost["agents"];
  budgets: SessionHost["budgets"];
  conversations: SessionHost["conversations"];
}

/** Collaborators for what is known of sessions. */
type KnownSessionsDeps = Pick<SessionHostDeps, "journal" | "log" | "lateEnds" | "others">;

/**
 * How long a reader waits for events that are being written. A journal of one machine needs a moment; in a cluster whose
 * servers are away, readers see what is durable. Milliseconds.
 */
const longestWaitMs = 500;
const defaultLimit = 50;
const maxLimit = 500;

/** All sessions of this process's host, live ones from itself and others from its journal. */
export function openSessionHost(deps: SessionHostDeps): SessionHost {
  const { journal, log, find } = deps;
  const ended = new EndedLines();
  return {
    start: deps.start,
    list: (query) => listSessions({ ...deps, ended }, query),
    async count(query = {}) {
      await log.written({ atMostMs: longestWaitMs });
      const counting = new SessionCounting(query);
      const span = spanOf(query);
      for (const pages of [groupPages(journal, span), ...deps.others.map((other) => other.groups(span))]) {
        for await (const groups of pages) counting.add(groups);
      }
      return counting.counts;
    },
    async get(sessionId, { facts = false } = {}) {
      const { record, elsewhere } = await findKept(deps, sessionId);
      const waiting = elsewhere === null ? waitingOf(deps, record) : await elsewhere.waiting();
      const lines = facts ? (await ended.of(elsewhere ?? journal, [record])).get(sessionId) : undefined;
      const one = { record, waiting, lines };
      return facts ? { ...summaryOf(deps, one), facts: factsOf(deps, one) } : summaryOf(deps, one);
    },
    async history(sessionId) {
      const { elsewhere } = await findKept(deps, sessionId);
      return elsewhere === null ? await journal.history(sessionId) : await elsewhere.history();
    },
    async open(sessionId) {
      if (find(sessionId) !== undefined) return sessionHandle(deps, sessionId);
      const { elsewhere } = await findWritten(deps, sessionId);
      return elsewhere === null ? sessionHandle(deps, sessionId) : elsewhereHandle(deps, elsewhere);
    },
    delete: (sessionId) => deleteSession(deps, sessionId),
    attach: deps.attach,
    agents: deps.agents,
    conversations: deps.conversations,
    budgets: deps.budgets,
    async usage(query = {}) {
      await log.written({ atMostMs: longestWaitMs });
      return await addUpUsage(query, (since) => [
        spentPages(journal, since),
        ...deps.others.map((other) => other.spent(since)),
      ]);
    },
    events(query = {}) {
      const { after = 0, cursor } = query;
      if (cursor !== undefined) throw noCluster();
      if (after > log.newest) throw beyond(after, log.newest);
      return log.subscribe(query);
    },
  };
}

/** Returns a session, also one that was deleted; null for an unknown one. */
export async function recordOf(deps: KnownSessionsDeps, sessionId: string): Promise<SessionRecord | null> {
  await deps.log.written({ atMostMs: longestWaitMs });
  const own = await deps.journal.session(sessionId);
  if (own !== null) return withLateEnd(own, deps.lateEnds.find(sessionId));
  return (await findElsewhere(deps, sessionId))?.record ?? null;
}

/** Returns the sessions of a conversation that were not deleted, the newest first. */
export async function recordsOf(deps: KnownSessionsDeps, conversation_id: string): Promise<SessionRecord[]> {
  const wanted = { conversation_id, limit: mostOfConversation };
  const own = await ownRecords(deps, wanted);
  const elsewhere = (await Promise.all(deps.others.map((other) => other.list(wanted)))).flat();
  const known = new Map(
    [...elsewhere.map(({ record }) => record), ...own].map((record) => [record.session_id, record]),
  );
  return [...known.values()].sort(compareByAge);
}

/** Sessions of a conversation that are looked at. */
const mostOfConversation = 10_000;

async function listSessions(
  deps: SessionHostDeps & { ended: EndedLines },
  { before, limit = defaultLimit, facts = false, ...filter }: SessionQuery = {},
): Promise<SessionSummary[]> {
  const { others, log, ended, journal } = deps;
  await log.written({ atMostMs: longestWaitMs });
  const first = before === undefined ? null : await findSession(deps, before);
  const wanted = { ...filter, before: first?.record, limit: checkLimit(limit) };
  const records = await ownRecords(deps, wanted);
  const lines = facts ? await ended.of(journal, records) : null;
  const own = records.map((record) => (
    { record, waiting: waitingOf(deps, record), lines: lines?.get(record.session_id) }
  ));
  const elsewhere = await Promise.all(others.map((other) => other.list(wanted, { facts })));
  const page = await newestOnce(deps, { own, elsewhere: elsewhere.flat(), limit });
  return page.map((one) => facts ? { ...summaryOf(deps, one), facts: factsOf(deps, one) } : summaryOf(deps, one));
}

/** Returns the part of a query that holds for every count. */
function spanOf({ text, since, until, task_id }: SessionQuery): SessionSpan {
  return { text, since, until, task_id };
}

/** Joins lists of sessions; another machine may say a session's id again, and then this host's is the one. */
async function newestOnce(
  deps: SessionHostDeps,
  { own, elsewhere, limit }: { own: ElsewhereSummary[]; elsewhere: ElsewhereSummary[]; limit: number },
): Promise<ElsewhereSummary[]> {
  const listed = new Map(own.map((one) => [one.record.session_id, one]));
  const isOwn = new Set(listed.values());
  for (const one of elsewhere) if (!listed.has(one.record.session_id)) listed.set(one.record.session_id, one);
  const all = [...listed.values()].sort((one, other) => compareByAge(one.record, other.record));
  const page: ElsewhereSummary[] = [];
  for (const one of all) {
    if (page.length === limit) break;
    if (isOwn.has(one) || await deps.journal.session(one.record.session_id) === null) page.push(one);
  }
  return page;
}

/** Lists the sessions of this host's journal; those whose ends it does not have yet, as ended ones. */
async function ownRecords(
  { journal, lateEnds }: Pick<SessionHostDeps, "journal" | "lateEnds">,
  filter: SessionFilter,
): Promise<SessionRecord[]> {
  const late = lateEnds.all();
  if (late.length === 0) return await journal.sessions(filter);
  const { state, outcome, interrupted, ...wanted } = filter;
  const fits = (record: SessionRecord) =>
    (state === undefined || record.state === state) && (outcome === undefined || record.outcome === outcome) &&
    (interrupted === undefined || interrupted === (record.stop_reason === "interrupted"));
  const open = await journal.sessions({ ...wanted, state: "running", limit: wanted.limit + late.length });
  const ended = state === "running" ? [] : await journal.sessions({ ...wanted, state: "ended", outcome, interrupted });
  return [...open, ...ended].map((record) => withLateEnd(record, lateEnds.find(record.session_id))).filter(fits)
    .sort(compareByAge).slice(0, wanted.limit);
}

async function deleteSession(deps: SessionHostDeps, sessionId: string): Promise<void> {
  const { journal, find, onDeleted } = deps;
  const { record, elsewhere } = await findKept(deps, sessionId);
  // An earlier host's session that could not be ended has no host that runs it.
  const leftOpen = elsewhere === null && find(sessionId) === undefined;
  if (record.state === "running" && !leftOpen) throw busyError(sessionId);
  const late = deps.lateEnds.find(sessionId);
  if (late !== undefined) throw late.error;
  if (elsewhere !== null) await elsewhere.delete();
  else if (!(await journal.delete(sessionId, "client", { leftOpen }))) throw busyError(sessionId);
  await onDeleted(sessionId);
}

/** A session's record; `elsewhere` is null for a session of this host's journal. */
interface FoundSession {
  record: SessionRecord;
  elsewhere: ElsewhereSession | null;
}

/** Finds a session that was not deleted. */
async function findKept(deps: SessionHostDeps, sessionId: string): Promise<FoundSession> {
  const found = await findWritten(deps, sessionId);
  if (found.record.deleted !== null) throw deletedError(found.record);
  return found;
}

/** Finds a session, once the events that are being written have had their time. */
async function findWritten(deps: SessionHostDeps, sessionId: string): Promise<FoundSession> {
  await deps.log.written({ atMostMs: longestWaitMs });
  return await findSession(deps, sessionId);
}

/** Finds a session: first in this host's journal, then in others. */
async function findSession(deps: SessionHostDeps, sessionId: string): Promise<FoundSession> {
  const { journal, lateEnds, log, find } = deps;
  let record = await journal.session(sessionId);
  if (record === null && find(sessionId) !== undefined) {
    // It runs here, so its start is being written, however long the servers of a cluster take.
    await log.written();
    record = await journal.session(sessionId);
  }
  if (record !== null) return { record: withLateEnd(record, lateEnds.find(sessionId)), elsewhere: null };
  lateEnds.demandBeginning(sessionId);
  const elsewhere = await findElsewhere(deps, sessionId);
  return elsewhere === null ? unknownSession(sessionId) : { record: elsewhere.record, elsewhere };
}

async function findElsewhere(
  { others }: Pick<SessionHostDeps, "others">,
  sessionId: string,
): Promise<ElsewhereSession | null> {
  for (const other of others) {
    const found = await other.find(sessionId);
    if (found !== null) return found;
  }
  return null;
}

function elsewhereHandle(deps: Pick<SessionHostDeps, "others">, found: ElsewhereSession): SessionHandle {
  const { session_id: id, state } = found.record;
  const result = async (): Promise<SessionResult> => {
    for await (const { event } of found.events({})) if (event.type === "session_ended") return event.result;
    throw deletedError((await findElsewhere(deps, id))?.record ?? found.record);
  };
  return {
    id,
    events: (query = {}) => found.events(query),
    result,
    async interrupt() {
      if (state === "running") await found.interrupt();
      return await result();
    },
    answer: (requestId, choice) => found.answer(requestId, choice),
  };
}

function waitingOf({ find }: Pick<SessionHostDeps, "find">, { state, session_id }: SessionRecord): WaitingRequest[] {
  return state === "running" ? find(session_id)?.session.waiting ?? [] : [];
}

function summaryOf(deps: Pick<SessionHostDeps, "find">, { record, waiting }: ElsewhereSummary): SessionSummary {
  const {
    first_gseq: _first,
    last_gseq: _last,
    deleted: _deleted,
    sorted_at: _at,
    follows_session: _before,
    last_turn: _turn,
    cost: _cost,
    currency: _currency,
    model: _model,
    ...known
  } = record;
  return { ...known, waiting, ...talkOf(deps, record) };
}

/** Returns what a running session does, here or where another machine says it, and what one that has ended took. */
function factsOf(
  { find }: Pick<SessionHostDeps, "find">,
  { record, facts, lines = null }: ElsewhereSummary,
): ListedFacts {
  const live = record.state === "running" ? find(record.session_id)?.session.facts ?? facts : undefined;
  if (live !== undefined) return live;
  const { cost, currency, model } = record;
  const named = model === null ? {} : { model };
  return { ...named, step: null, last_event_at: null, beats: [], plan: null, cost, currency, lines };
}

/** Returns the turn and the number of waiting messages of a session that runs here. */
function talkOf({ find }: Pick<SessionHostDeps, "find">, record: SessionRecord): Partial<SessionSummary> {
  const live = record.state === "running" ? find(record.session_id) : undefined;
  if (live === undefined) return {};
  const { talk } = live.session;
  const number = talk.current?.number ?? talk.all.at(-1)?.turn ?? record.last_turn;
  return { turn: { number, state: stateOf(talk) }, pending: talk.pending };
}

function checkLimit(limit: number): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= maxLimit) return limit;
  throw new BulkheadError("invalid_request", `Cannot list ${limit} sessions: a page holds 1 to ${maxLimit}.`);
}

function busyError(sessionId: string): BulkheadError {
  return new BulkheadError("busy", `Cannot delete session "${sessionId}": it is still running.`, {
    hint: `Interrupt it first: bulkhead session interrupt ${sessionId}.`,
    details: { session_id: sessionId },
  });
}

/** A cursor names places in the logs of several machines. */
function noCluster(): BulkheadError {
  return new BulkheadError("invalid_request", "Cannot go on after the cursor: this host is in no cluster.", {
    hint: "Give the number of the newest event that you have: after, or Last-Event-ID.",
  });
}

/** Nothing would come for long, and then not all. */
function beyond(after: number, newest: number): BulkheadError {
  return new BulkheadError("invalid_request", `Cannot go on after event ${after}: the newest is ${newest}.`, {
    hint: "The number is another journal's. Begin with 0 for all that is held, or without a number for what comes.",
    details: { after, newest },
  });
}
