import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { SessionSummary } from "../../../plugin-sdk/session-summary.ts";
import {
  conversationLabelNames,
  type RunSessionOptions,
  type SessionHandle,
  type SessionHost,
} from "../../sessions/host/session-host.ts";
import { isKeptAnswer, waitingWithoutKeptAnswer, withoutKeptAnswer } from "../../sessions/session/ask-host.ts";
import type { SessionQuery } from "../../../plugin-sdk/queries.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { callerConversations } from "./caller-conversations.ts";
import { countOwn, listOwn, type SessionPage } from "./own-sessions.ts";
import type { SessionOwners } from "./session-owners.ts";
import { type Caller, demandScope, hasScope } from "./scopes.ts";
import { demandControl, demandSight, sees } from "./visible-sessions.ts";
import { realFolder } from "../../ground/platform/files/real-folder.ts";
import { isInside } from "../../ground/platform/files/paths.ts";

/** A session that a request started or found. */
interface AdmittedSession {
  session: SessionHandle;
  /** Whether an earlier request with the same key started it. */
  known: boolean;
}

/** A host's sessions, restricted to what one caller may see and control. */
export interface CallerSessions extends SessionHost {
  /** Whether the caller may see a session, which need not exist. */
  sees(sessionId: string): boolean;
  /** Whether the caller may see every session. */
  seesAll(): boolean;
  /** @throws {BulkheadError} as {@link SessionHost.start}; `forbidden` */
  admit(request: SessionRequest, options?: RunSessionOptions): Promise<AdmittedSession>;
  /** @throws {BulkheadError} `not_found` when `before` is no session that the caller may see */
  page(query?: SessionQuery): Promise<SessionPage>;
  /**
   * Returns the handle of a session that the caller may control.
   * @throws {BulkheadError} as {@link SessionHost.open}; `forbidden` for one that it may only see
   */
  control(sessionId: string): Promise<SessionHandle>;
}

interface CallerSessionsDeps {
  sessions: SessionHost;
  owners: SessionOwners;
}

/** Restricts a host's sessions to what one caller may see and control. Every door with tokens uses this. */
export function callerSessions(caller: Caller, { sessions, owners }: CallerSessionsDeps): CallerSessions {
  const held = (session: SessionHandle) => heldBy(session, { caller, owners });
  return {
    sees: (sessionId) => sees(caller, sessionId, owners),
    seesAll: () => hasScope(caller, "read"),
    admit,
    page,
    start: async (request, options) => (await admit(request, options)).session,
    list: async (query) => (await page(query)).sessions,
    count: async (query = {}) =>
      hasScope(caller, "read") ? await sessions.count(query) : await countOwn(caller, query, { sessions, owners }),
    async get(sessionId, options) {
      demandSight(caller, sessionId, owners);
      return offered(caller, await sessions.get(sessionId, options));
    },
    async history(sessionId) {
      demandSight(caller, sessionId, owners);
      return await sessions.history(sessionId);
    },
    async open(sessionId) {
      demandSight(caller, sessionId, owners);
      return held(await sessions.open(sessionId));
    },
    async control(sessionId) {
      demandControl(caller, sessionId, owners);
      return held(await sessions.open(sessionId));
    },
    async delete(sessionId) {
      demandControl(caller, sessionId, owners);
      await sessions.delete(sessionId);
    },
    agents: (options) => sessions.agents(options),
    async attach(content) {
      demandScope(caller, { needed: ["run"], act: "upload an attachment" });
      return await sessions.attach(content, { client: caller.id });
    },
    conversations: callerConversations(caller, {
      sessions,
      owners,
      admit: (request) => admitSession(caller, request),
    }),
    async usage(query) {
      demandScope(caller, { needed: ["read"], act: "see what all sessions used" });
      return await sessions.usage(query);
    },
    async budgets() {
      demandScope(caller, { needed: ["read"], act: "see what all sessions used" });
      return await sessions.budgets();
    },
    // Call events() here, so that an invalid query is refused before a stream begins.
    events: (query) => {
      const events = offeredIn(caller, sessions.events(query));
      return hasScope(caller, "read") ? events : seenBy(events, { caller, owners });
    },
  };

  async function admit(request: SessionRequest, options: RunSessionOptions = {}): Promise<AdmittedSession> {
    const session = await sessions.start(await admitSession(caller, request), {
      ...options,
      client: caller.id,
      mayRead: (id) => sees(caller, id, owners),
    });
    const known = owners.ownerOf(session.id) !== undefined;
    await owners.note(session.id, caller);
    return { session: held(session), known };
  }

  async function page({ limit = 50, ...query }: SessionQuery = {}): Promise<SessionPage> {
    if (!hasScope(caller, "read")) {
      const { sessions: own, next } = await listOwn(caller, { ...query, limit }, { sessions, owners });
      return { sessions: own.map((one) => offered(caller, one)), next };
    }
    const all = (await sessions.list({ ...query, limit })).map((one) => offered(caller, one));
    return { sessions: all, next: all.length < limit ? null : all.at(-1)?.session_id ?? null };
  }
}

interface SightDeps {
  caller: Caller;
  owners: SessionOwners;
}

/** Leaves out events of sessions that the caller may not see. */
async function* seenBy(
  events: AsyncIterable<Envelope>,
  { caller, owners }: SightDeps,
): AsyncGenerator<Envelope, void, void> {
  for await (const envelope of events) {
    if (sees(caller, envelope.session_id, owners)) yield envelope;
  }
}

/** Checks at each call that the caller still controls the session: its token may have been revoked meanwhile. */
function heldBy(session: SessionHandle, { caller, owners }: SightDeps): SessionHandle {
  const controlled = <T>(act: () => Promise<T>) => async () => {
    demandControl(caller, session.id, owners);
    return await act();
  };
  return {
    id: session.id,
    events: (query) => offeredIn(caller, session.events(query)),
    result: () => session.result(),
    interrupt: controlled(() => session.interrupt()),
    answer: (requestId, choice) =>
      controlled(() => {
        if (isKeptAnswer({ request_id: requestId, choice })) {
          demandScope(caller, { needed: ["admin"], act: "deny a host to a plugin for good" });
        }
        return session.answer(requestId, choice);
      })(),
  };
}

/** Leaves out of a session's requests the answer that changes grants, where the caller may not. */
function offered(caller: Caller, summary: SessionSummary): SessionSummary {
  if (hasScope(caller, "admin") || summary.waiting.length === 0) return summary;
  return { ...summary, waiting: waitingWithoutKeptAnswer(summary.waiting) };
}

/** As {@link offered}, for events. */
function offeredIn(caller: Caller, events: AsyncIterable<Envelope>): AsyncIterable<Envelope> {
  return hasScope(caller, "admin") ? events : mapped(events);

  async function* mapped(all: AsyncIterable<Envelope>): AsyncGenerator<Envelope, void, void> {
    for await (const envelope of all) yield withoutKeptAnswer(envelope);
  }
}

/**
 * Checks a request for a session against its caller's token; every door calls this, and what describes a folder to a caller.
 * Returns the request to start, which may differ from the one given.
 * @throws {BulkheadError} `forbidden`
 */
export async function admitSession(caller: Caller, request: SessionRequest): Promise<SessionRequest> {
  demandScope(caller, { needed: ["run"], act: "start a session" });
  demandLabels(caller, request.labels);
  const { workdirs } = caller;
  if (workdirs === undefined) return request;
  if (request.place !== undefined) {
    throw new BulkheadError("forbidden", "The token does not allow it: choose where a session runs.", {
      hint: "It is for some folders of this machine. Use a token without folders, or leave place out.",
      details: { path: "place" },
    });
  }
  const workdir = await realFolder(request.workdir);
  if (workdir === null || !workdirs.some((folder) => isInside(folder, workdir))) {
    throw new BulkheadError("forbidden", `The token does not allow it: start a session in "${request.workdir}".`, {
      hint: `Its sessions are started in ${workdirs.join(", ")}, or below.`,
      details: { workdirs: [...workdirs] },
    });
  }
  // Start in the folder that was checked: a link in the path may lead elsewhere by the time the session starts.
  return { ...request, workdir };
}

/** Guards the labels by which a person's own door finds a conversation: their setter could put words into it. */
function demandLabels(caller: Caller, labels: Readonly<Record<string, string>> = {}): void {
  const kept = conversationLabelNames.filter((name) => Object.hasOwn(labels, name));
  if (kept.length === 0 || hasScope(caller, "admin")) return;
  throw new BulkheadError("forbidden", `The token's scopes do not allow it: set the label ${kept.join(", ")}.`, {
    hint: "An editor's conversations are found by these labels: choose another name.",
    details: { needed: ["admin"] },
  });
}
