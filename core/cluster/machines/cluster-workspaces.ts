import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Workspace } from "../../../plugin-sdk/workspace.ts";
import type { HostWorkspaces } from "../../sessions/host/workspaces.ts";
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

/** The worktrees of all machines: a diff can be read when its machine is gone; the rest is done where the worktree is. */
export function clusterWorkspaces(own: HostWorkspaces, deps: ClusterWorkspacesDeps): HostWorkspaces {
  const { engine, diffs } = deps;
  return {
    list: async () => [...await own.list(), ...await listElsewhere(deps)],
    diff: async (session_id) => {
      const machine = await machineOf(session_id, deps);
      if (machine === null) return await own.diff(session_id);
      if (deps.presence.present(machine) !== null) {
        await callMachine(engine, { machine, name: "diff", ask: { session_id }, timeoutMs: workMs });
      }
      return await diffs.read(session_id);
    },
    apply: async (session_id, { allowLinks = false } = {}) => {
      const machine = await machineOf(session_id, deps);
      if (machine === null) return await own.apply(session_id, { allowLinks });
      demandPresent(machine, { session_id, deps });
      const ask = { session_id, allow_links: allowLinks };
      return await callMachine(engine, { machine, name: "apply", ask, timeoutMs: workMs });
    },
    discard: async (session_id) => {
      const machine = await machineOf(session_id, deps);
      if (machine === null) return await own.discard(session_id);
      demandPresent(machine, { session_id, deps });
      await callMachine(engine, { machine, name: "discard", ask: { session_id }, timeoutMs: workMs });
    },
    prune: (options) => own.prune(options),
  };
}

/** Returns the other machine that has a session; null for a session of this machine, and for an unknown one. */
async function machineOf(sessionId: string, { mirrors }: ClusterWorkspacesDeps): Promise<string | null> {
  for (const { journal, machine } of mirrors()) if (await journal.session(sessionId) !== null) return machine;
  return null;
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

function demandPresent(
  machine: string,
  { session_id, deps: { presence } }: { session_id: string; deps: ClusterWorkspacesDeps },
): void {
  if (presence.present(machine) !== null) return;
  throw new BulkheadError(
    "unavailable",
    `Cannot change the worktree of session "${session_id}": "${machine}" is away.`,
    {
      hint: `Take its changes over with: bulkhead session diff ${session_id} | git apply.`,
      details: { session_id, machine },
    },
  );
}
