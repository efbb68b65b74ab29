import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import type { SessionSummary } from "../../../plugin-sdk/session-summary.ts";
import { compareByAge, type SessionRecord } from "../../records/journal/session-record.ts";
import type { LiveSession } from "./live-sessions.ts";
import type { ElsewhereSession, OtherJournals } from "./other-journals.ts";
import type { AgentsOptions, Routes } from "./routes.ts";
import { deletedError, sessionHandle, type SessionHandleDeps, unknownSession } from "./session-handle.ts";
import type { SessionHandle, SessionHost } from "./session-host.ts";

/** Collaborators of {@link openSessionHost}. */
export interface SessionHostDeps extends SessionHandleDeps {
  /** Sessions of other hosts of the same state folder. */
  others: OtherJournals;
  start: SessionHost["start"];
  /** Called after a session was deleted. */
  onDeleted(): void;
  agents(options?: AgentsOptions): ReturnType<Routes["agents"]>;
}

const defaultLimit = 50;
const maxLimit = 500;

/** All sessions of this process's host, live ones from itself and others from its journal. */
export function openSessionHost(deps: SessionHostDeps): SessionHost {
  const { journal, others, log, find } = deps;
  return {
    start: deps.start,
    async list({ before, limit = defaultLimit, ...filter } = {}) {
      await log.written();
      const first = before === undefined ? null : await findSession(deps, before);
      const wanted = { ...filter, ...(first === null ? {} : { before: first.record }), limit: checkLimit(limit) };
      const records = [...await journal.sessions(wanted), ...await others.list(wanted)].sort(compareByAge);
      return records.slice(0, limit).map((record) => summaryOf(record, find(record.session_id)));
    },
    async get(sessionId) {
      await log.written();
      const { record } = await findSession(deps, sessionId);
      if (record.deleted !== null) throw deletedError(record);
      return summaryOf(record, find(sessionId));
    },
    async history(sessionId) {
      await log.written();
      const found = await findSession(deps, sessionId);
      if (found.record.deleted !== null) throw deletedError(found.record);
      return found.journal === null ? await journal.history(sessionId) : await others.history(found);
    },
    async open(sessionId) {
      await log.written();
      const found = await findSession(deps, sessionId);
      return found.journal === null ? sessionHandle(deps, sessionId) : elsewhereHandle(deps, found);
    },
    async delete(sessionId) {
      await log.written();
      const found = await findSession(deps, sessionId);
      const { record } = found;
      if (record.deleted !== null) throw deletedError(record);
      // An earlier host's session that could not be ended has no host that runs it.
      const leftOpen = found.journal === null && find(sessionId) === undefined;
      if (record.state === "running" && !leftOpen) throw busyError(sessionId);
      if (found.journal !== null) await others.delete(found);
      else if (!(await journal.delete(sessionId, "client", { leftOpen }))) throw busyError(sessionId);
      deps.onDeleted();
    },
    agents: (options) => deps.agents(options),
    events(query = {}) {
      const { after = 0 } = query;
      if (after > log.newest) throw beyond(after, log.newest);
      return log.subscribe(query);
    },
  };
}

type OwnSession = { record: SessionRecord; journal: null };

/** Finds a session's record: first in this host's journal, then in others. */
async function findSession(
  { journal, others }: Pick<SessionHostDeps, "journal" | "others">,
  sessionId: string,
): Promise<OwnSession | ElsewhereSession> {
  const record = await journal.session(sessionId);
  return record !== null ? { record, journal: null } : await others.find(sessionId) ?? unknownSession(sessionId);
}

/** A session of another host: it can be read, and its own host alone can stop or answer it. */
function elsewhereHandle({ others }: Pick<SessionHostDeps, "others">, found: ElsewhereSession): SessionHandle {
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

function summaryOf(record: SessionRecord, live: LiveSession | undefined): SessionSummary {
  const { first_gseq: _first, last_gseq: _last, deleted: _deleted, ...known } = record;
  return { ...known, waiting: known.state === "running" ? live?.session.waiting ?? [] : [] };
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

/** Nothing would come for long, and then not all. */
function beyond(after: number, newest: number): BulkheadError {
  return new BulkheadError("invalid_request", `Cannot go on after event ${after}: the newest is ${newest}.`, {
    hint: "The number is another journal's. Begin with 0 for all that is held, or without a number for what comes.",
    details: { after, newest },
  });
}
