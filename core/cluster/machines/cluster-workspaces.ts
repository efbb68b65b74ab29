import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { SessionHeld } from "../../../plugin-sdk/held.ts";
import { type AppliedWorkspace, workedIn, type Workspace } from "../../../plugin-sdk/workspace.ts";
import type { ApplyChoice, HostWorkspaces, OwnWorkspaces } from "../../sessions/host/state/workspaces.ts";
import type { Engine } from "../engine/engine.ts";
import type { Mirror } from "../log/mirror.ts";
import { callMachine } from "./calls.ts";
import type { Presence } from "./presence.ts";
import type { SharedDiffs } from "./shared-diffs.ts";

interface ClusterWorkspacesDeps {
  engine: Engine;
  presence: Pick<Presence, "present" | "others">;
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
  const forgotten = async <T>(sessionId: string, done: T): Promise<T> => {
    await diffs.forget(sessionId);
    return done;
  };
  return {
    list: async () => {
      const there = [...await own.list(), ...await listElsewhere(deps)];
      const known = new Set(there.map(({ session_id }) => session_id));
      return [...there, ...(await listLost(deps)).filter(({ session_id }) => !known.has(session_id))];
    },
    folderState: (workdir) => own.folderState(workdir),
    diff: async (session_id, choice) => {
      const machine = (await foundElsewhere(session_id, deps))?.machine;
      if (machine === undefined) return await own.diff(session_id, choice);
      if (choice?.path !== undefined) throw elsewhereError(machine, choice.path);
      if (deps.presence.present(machine) !== null) {
        await callMachine(engine, { machine, name: "diff", ask: { session_id }, timeoutMs: workMs });
      }
      return await diffs.read(session_id);
    },
    apply: async (session_id, choice = {}) => {
      const { allowLinks = false, withHeld = [] } = choice;
      const found = await foundElsewhere(session_id, deps);
      if (found === null) return await forgotten(session_id, await own.apply(session_id, choice));
      const { machine } = found;
      if (deps.presence.present(machine) === null) {
        return await forgotten(session_id, await applyLost({ session_id, machine, choice }, { own, diffs }));
      }
      const ask = { session_id, allow_links: allowLinks, with_held: [...withHeld] };
      return await callMachine(engine, { machine, name: "apply", ask, timeoutMs: workMs });
    },
    held: async () => [...await own.held(), ...await heldElsewhere(deps)],
    settleHeld: async (session_id, decision) => {
      const machine = (await foundElsewhere(session_id, deps))?.machine;
      const isHere = machine === undefined || (await own.held()).some((one) => one.session_id === session_id);
      if (isHere) return await own.settleHeld(session_id, decision);
      if (deps.presence.present(machine) === null) throw awayError(machine, session_id);
      const ask = { session_id, ...decision };
      return await callMachine(engine, { machine, name: "settle_held", ask, timeoutMs: workMs });
    },
    discard: async (session_id) => {
      const machine = (await foundElsewhere(session_id, deps))?.machine;
      if (machine === undefined) return await forgotten(session_id, await own.discard(session_id));
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

function listElsewhere(deps: ClusterWorkspacesDeps): Promise<Workspace[]> {
  return ofAll(deps, (machine) => callMachine(deps.engine, { machine, name: "worktrees", ask: {}, timeoutMs: listMs }));
}

function heldElsewhere(deps: ClusterWorkspacesDeps): Promise<SessionHeld[]> {
  return ofAll(deps, (machine) => callMachine(deps.engine, { machine, name: "held", ask: {}, timeoutMs: listMs }));
}

/** Joins the lists of the machines that are there; one that does not answer has none. */
async function ofAll<T>(
  { presence }: Pick<ClusterWorkspacesDeps, "presence">,
  listOf: (machine: string) => Promise<T[]>,
): Promise<T[]> {
  return (await Promise.all(presence.others().map(({ name }) => listOf(name).catch(() => [])))).flat();
}

/** The worktrees of machines that are away, as far as their diffs are kept. */
async function listLost(deps: ClusterWorkspacesDeps): Promise<Workspace[]> {
  const { presence, mirrors, diffs } = deps;
  if (mirrors().every(({ machine }) => presence.present(machine) !== null)) return [];
  const kept = await diffs.worktrees().catch(() => []);
  const found = await Promise.all(kept.map(({ session_id }) => foundElsewhere(session_id, deps)));
  return kept.flatMap((workspace, at) => {
    const machine = found[at]?.machine;
    return machine === undefined || presence.present(machine) !== null ? [] : [{ ...workspace, running: false }];
  });
}

/** Applies the changes of a machine that is away to the repository at the same path of this one. */
async function applyLost(
  { session_id, machine, choice }: { session_id: string; machine: string; choice: ApplyChoice },
  { own, diffs }: { own: OwnWorkspaces; diffs: SharedDiffs },
): Promise<AppliedWorkspace> {
  const kept = (await diffs.worktrees()).find((one) => workedIn(one, session_id));
  const id = kept?.session_id ?? session_id;
  // Applied from here already, and then this machine has a record of it.
  if ((await own.list()).some((one) => one.session_id === id)) return await own.apply(id, choice);
  if (kept === undefined) throw awayError(machine, session_id);
  const { patch } = await diffs.read(id);
  return await own.applyPatch(id, { workdir: kept.workdir, patch, ...choice }).catch((error: unknown) => {
    throw isMissing(error) ? awayError(machine, session_id) : error;
  });
}

/** Whether this machine has no such folder, or no repository there. */
function isMissing(error: unknown): boolean {
  return error instanceof BulkheadError && ["workdir_missing", "invalid_request", "not_found"].includes(error.code);
}

function elsewhereError(machine: string, path: string): BulkheadError {
  return new BulkheadError("unsupported", `Cannot show all lines of "${path}": its worktree is on "${machine}".`, {
    hint: "Open the console of that machine.",
    details: { machine },
  });
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
