import type { WaitingRequest } from "../../../plugin-sdk/session-summary.ts";
import type { Host } from "../../sessions/host/host.ts";
import type { SessionHandle } from "../../sessions/host/session-host.ts";
import { askedText, type CallAnswers } from "./calls.ts";
import type { SessionShares } from "./session-shares.ts";
import type { SharedDiffs } from "./shared-diffs.ts";

/** Makes the answers of a machine to the questions of others. Who may ask was checked at the door they came in by. */
export function machineAnswers(
  host: Pick<Host, "sessions" | "workspaces">,
  { diffs, shares }: { diffs: SharedDiffs; shares: Pick<SessionShares, "giveBackSpare"> },
): CallAnswers {
  const opened = async (ask: Readonly<Record<string, unknown>>): Promise<SessionHandle> =>
    await host.sessions.open(askedText(ask, "session_id"));
  return {
    interrupt: async (ask) => {
      const session = await opened(ask);
      // The end comes to the asker with the log.
      session.interrupt().catch(() => undefined);
      return null;
    },
    answer: async (ask) => await (await opened(ask)).answer(askedText(ask, "request_id"), askedText(ask, "choice")),
    delete: async (ask) => {
      await host.sessions.delete(askedText(ask, "session_id"));
      return null;
    },
    waiting: async () => {
      const running = await host.sessions.list({ state: "running", limit: 500 });
      const asking = running.filter(({ waiting }) => waiting.length > 0);
      return Object.fromEntries(asking.map(({ session_id, waiting }): [string, WaitingRequest[]] => [
        session_id,
        waiting,
      ]));
    },
    spare: () => shares.giveBackSpare(),
    worktrees: () => host.workspaces.list(),
    diff: async (ask) => {
      await diffs.keep(askedText(ask, "session_id"));
      return null;
    },
    apply: async (ask) => {
      return await host.workspaces.apply(askedText(ask, "session_id"), { allowLinks: ask["allow_links"] === true });
    },
    discard: async (ask) => {
      await host.workspaces.discard(askedText(ask, "session_id"));
      return null;
    },
  };
}
