import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Workspace } from "../../../plugin-sdk/workspace.ts";
import type { HostWorkspaces, OwnWorkspaces } from "../../sessions/host/workspaces.ts";
import type { Engine } from "../engine/engine.ts";
import type { Mirror } from "../log/mirror.ts";
import { callMachine } from "./calls.ts";
import type { Presence } from "./presence.ts";
import type { SharedDiffs } from "./shared-diffs.ts";

/** Collaborators of {@link clusterWorkspaces}. */
export interface ClusterWorkspacesDeps {
  engine: Engine;
  presence: Pick<Presence, "present" | "heard">;
  mirrors(): readonly Mirror[];
  diffs: SharedDiffs;
}

/** Longest wait for one machine's list. Milliseconds. */
const listMs = 1000;
/** Longest wait for a diff, and for its changes to be applied. Milliseconds. */
const workMs = 60_000;

/**
 * The worktrees of all machines. When a machine is gone, its diffs can be read, and applied where the repository is found
 * at the same path; all else is done where the worktree is.
 */
export function clusterWorkspaces(own: OwnWorkspaces, deps: ClusterWorkspacesDeps): HostWorkspaces {
  const { engine, diffs } = deps;
  return {
    list: async () => [...await own.list(), ...await listElsewhere(deps)],
    diff: async (session_id) => {
      const machine = (await foundElsewhere(session_id, deps))?.machine;
      if (machine === undefined) return await own.diff(session_id);
      if (deps.presence.present(machine) !== null) {
        await callMachine(engine, { machine, name: "diff", ask: { session_id }, timeoutMs: workMs });
      }
      return await diffs.read(session_id);
    },
    apply: async (session_id, { allowLinks = false } = {}) => {
      const found = await foundElsewhere(session_id, deps);
      if (found === null) return await own.apply(session_id, { allowLinks });
      const { machine } = found;
      if (deps.presence.present(machine) === null) {
        const workdir = await namedFolder(session_id, found);
        if (workdir === null) throw awayError(machine, session_id);
        const { patch } = await diffs.read(session_id);
        return await own.applyPatch(session_id, { workdir, patch, allowLinks }).catch((error: unknown) => {
          throw isMissing(error) ? awayError(machine, session_id) : error;
        });
      }
      const ask = { session_id, allow_links: allowLinks };
      return await callMachine(engine, { machine, name: "apply", ask, timeoutMs: workMs });
    },
    discard: async (session_id) => {
      const machine = (await foundElsewhere(session_id, deps))?.machine;
      if (machine === undefined) return await own.discard(session_id);
      if (deps.presence.present(machine) === null) throw awayError(machine, session_id);
      await callMachine(engine, { machine, name: "discard", ask: { session_id }, timeoutMs: workMs });
    },
    prune: (options) => own.prune(options),
  };
}

/** Finds the copy of the journal of another machine that has a session; null for any other session. */
async function foundElsewhere(sessionId: string, { mirrors }: ClusterWorkspacesDeps): Promise<Mirror | null> {
  for (const mirror of mirrors()) if (await mirror.journal.session(sessionId) !== null) return mirror;
  return null;
}

/** The folder that the client of a session named; null where its first event is not kept. */
async function namedFolder(sessionId: string, { journal }: Pick<Mirror, "journal">): Promise<string | null> {
  const [first] = await journal.read({ after: 0, sessionId, limit: 1 });
  return first?.event.type === "session_started" ? first.event.requested.workdir : null;
}

async function listElsewhere({ engine, presence }: ClusterWorkspacesDeps): Promise<Workspace[]> {
  const names = presence.heard().map(({ facts }) => facts.name).filter((name) => presence.present(name) !== null);
  const lists = await Promise.all(
    names.map((machine) =>
      callMachine(engine, { machine, name: "worktrees", ask: {}, timeoutMs: listMs }).catch(() => [])
    ),
  );
  return lists.flat();
}

/** Whether this machine has no such folder, or no repository there. */
function isMissing(error: unknown): boolean {
  return error instanceof BulkheadError && ["workdir_missing", "invalid_request", "not_found"].includes(error.code);
}

function awayError(machine: string, session_id: string): BulkheadError {
  return new BulkheadError(
    "unavailable",
    `Cannot change the worktree of session "${session_id}": "${machine}" is away.`,
    {
      hint: `Take its changes over with: bulkhead session diff ${session_id} | git apply.`,
      details: { session_id, machine },
    },
  );
}
