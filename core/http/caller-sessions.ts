import { BulkheadError } from "../../plugin-sdk/errors.ts";
import type { SessionSummary } from "../../plugin-sdk/session-summary.ts";
import type { SessionHandle, SessionHost, SessionQuery } from "../host/session-host.ts";
import { admitSession } from "./admit-session.ts";
import type { HttpDoorOptions } from "./door.ts";
import { listOwn } from "./list-own.ts";
import { type Caller, hasScope } from "./scopes.ts";
import { demandControl, demandSight, sees } from "./visible-sessions.ts";

/** A host's sessions as one caller may see and handle them: the same rules as the routes of the API have. */
export function callerSessions(
  caller: Caller,
  { sessions, owners }: Pick<HttpDoorOptions, "sessions" | "owners">,
): SessionHost {
  return {
    async start(request, options = {}) {
      demandScope(caller);
      const session = await sessions.start(await admitSession(caller, request), { ...options, client: caller.id });
      await owners.note(session.id, caller);
      return held(session);
    },
    list: (query) => listSeen(query),
    async get(sessionId) {
      demandSight(caller, sessionId, owners);
      return await sessions.get(sessionId);
    },
    async history(sessionId) {
      demandSight(caller, sessionId, owners);
      return await sessions.history(sessionId);
    },
    async open(sessionId) {
      demandSight(caller, sessionId, owners);
      return held(await sessions.open(sessionId));
    },
    async delete(sessionId) {
      demandControl(caller, sessionId, owners);
      await sessions.delete(sessionId);
    },
    agents: (options) => sessions.agents(options),
    async *events(query) {
      for await (const envelope of sessions.events(query)) {
        if (sees(caller, envelope.session_id, owners)) yield envelope;
      }
    },
  };

  function held(session: SessionHandle): SessionHandle {
    const controlled = <T>(act: () => Promise<T>) => async () => {
      demandControl(caller, session.id, owners);
      return await act();
    };
    return {
      id: session.id,
      events: (query) => session.events(query),
      result: () => session.result(),
      interrupt: controlled(() => session.interrupt()),
      answer: (requestId, choice) => controlled(() => session.answer(requestId, choice))(),
    };
  }

  async function listSeen({ limit = 50, ...query }: SessionQuery = {}): Promise<SessionSummary[]> {
    if (hasScope(caller, "read")) return await sessions.list({ ...query, limit });
    return (await listOwn(caller, { ...query, limit }, { sessions, owners })).sessions;
  }
}

function demandScope(caller: Caller): void {
  if (hasScope(caller, "run")) return;
  throw new BulkheadError("forbidden", "The token's scopes do not allow it: start a session.", {
    hint: 'It takes a token with the scope run: "bulkhead token create NAME --scope run".',
    details: { needed: ["run"] },
  });
}
