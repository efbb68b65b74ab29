import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { listOf } from "../../../plugin-sdk/json-fields.ts";
import type { Journal } from "../../records/journal/journal.ts";
import type { Host } from "../../sessions/host/host.ts";
import type { SessionHandle } from "../../sessions/host/session-host.ts";
import { askedText, type CallAnswers, type CallAsk } from "./calls.ts";
import type { SessionShares } from "./session-shares.ts";
import { talkAnswers } from "./cluster-conversations.ts";
import type { SharedDiffs } from "./shared-diffs.ts";

interface MachineAnswersDeps {
  host: Pick<Host, "sessions" | "workspaces" | "waiting" | "facts" | "carried">;
  own: Pick<Journal, "session">;
  diffs: SharedDiffs;
  shares: Pick<SessionShares, "giveBackSpare">;
}

/** Makes the answers of a machine to others, about its own sessions alone. Who may ask was checked at their door. */
export function machineAnswers({ host, own, diffs, shares }: MachineAnswersDeps): CallAnswers {
  const idOf = async (ask: CallAsk): Promise<string> => {
    const session_id = askedText(ask, "session_id");
    if (await own.session(session_id) !== null) return session_id;
    throw new BulkheadError("not_found", `This machine has no session "${session_id}".`, { details: { session_id } });
  };
  const opened = async (ask: CallAsk): Promise<SessionHandle> => await host.sessions.open(await idOf(ask));
  return {
    interrupt: async (ask) => {
      const session = await opened(ask);
      // The end comes to the asker with the log.
      session.interrupt().catch(() => undefined);
      return null;
    },
    answer: async (ask) => {
      const choice = ask["choice"] === null ? null : askedText(ask, "choice");
      return await (await opened(ask)).answer(askedText(ask, "request_id"), choice);
    },
    delete: async (ask) => {
      await host.sessions.delete(await idOf(ask));
      return null;
    },
    waiting: () => Promise.resolve(host.waiting()),
    facts: () => Promise.resolve(host.facts()),
    spare: () => shares.giveBackSpare(),
    worktrees: () => host.workspaces.list(),
    diff: async (ask) => {
      await diffs.keep(await idOf(ask));
      return null;
    },
    apply: async (ask) => {
      const id = await idOf(ask);
      const withHeld = listOf(ask["with_held"]).map(String);
      const applied = await host.workspaces.apply(id, { allowLinks: ask["allow_links"] === true, withHeld });
      if (applied.held.length === 0) await diffs.forget(id);
      return applied;
    },
    held: () => host.workspaces.held(),
    settle_held: async (ask) => {
      const action = ask["action"] === "drop" ? "drop" : "apply";
      const paths = ask["paths"] === undefined ? {} : { paths: listOf(ask["paths"]).map(String) };
      return await host.workspaces.settleHeld(await idOf(ask), { action, ...paths });
    },
    ...talkAnswers(host, idOf),
    discard: async (ask) => {
      const id = await idOf(ask);
      await host.workspaces.discard(id);
      await diffs.forget(id);
      return null;
    },
  };
}
