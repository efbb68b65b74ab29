import { dropPrograms } from "../../ground/platform/processes/child-process.ts";
import { liveThreads } from "../../ground/platform/engine/live-threads.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { removeTree } from "../../ground/platform/files/remove-tree.ts";
import type { HeldState } from "./state/take-state.ts";
import { within } from "../../ground/platform/engine/within.ts";
import type { CloseDeadlines } from "./host.ts";
import type { HostDeps } from "./host-deps.ts";

/** Deadlines of a host whose operator names none. */
const defaultCloseDeadlines: CloseDeadlines = {
  sessions: 10_000,
  workers: 3000,
  programs: 6000,
  ends: 6000,
  events: 2000,
  notices: 3000,
  telemetry: 4000,
  counters: 1000,
  journal: 3000,
  scripts: 2000,
  bundler: 1000,
  scratch: 2000,
  ledger: 500,
  claim: 500,
  temporary: 1000,
};

/** Closes a host in order, in at most 30 seconds: a late step is logged and left behind. */
export async function closeHost(deps: HostDeps, deadlines: Partial<CloseDeadlines> = {}): Promise<void> {
  const { state, sessions, services, routes, writeLog } = deps;
  const { claim, children, spare } = state;
  const ms = { ...defaultCloseDeadlines, ...deadlines };
  const ending = sessions.close();
  const killPrograms = () => sessions.size > 0 ? children.killAll() : Promise.resolve();
  await closeInSteps([
    { name: "ending the sessions", act: () => ending, ms: ms.sessions },
    { name: "ending the workers", act: () => Promise.allSettled([spare?.close(), services.close()]), ms: ms.workers },
    { name: "killing programs", act: killPrograms, ms: ms.programs },
    { name: "writing the sessions' ends and leaving the worktrees", act: () => ending, ms: ms.ends },
    { name: "writing the last events", act: () => writeLast(deps), ms: ms.events },
    { name: "calling people", act: () => deps.notices.close(), ms: ms.notices },
    { name: "sending telemetry", act: () => deps.telemetry.close(), ms: ms.telemetry },
    { name: "writing the counters", act: () => routes.close(), ms: ms.counters },
    { name: "closing the journal", act: () => closeJournal(deps), ms: ms.journal },
    { name: "finishing scripts", act: () => services.settled(), ms: ms.scripts },
    { name: "stopping the bundler", act: () => deps.leaveBundler(), ms: ms.bundler },
    // Each session removes its own files; this takes what an operation under way wrote after its session's end.
    { name: "closing networks that no session took", act: () => deps.networks.close(), ms: ms.programs },
    { name: "clearing the scratch folder", act: () => clearScratch(state), ms: ms.scratch },
    { name: "dropping what was made ahead for programs", act: dropPrograms, ms: ms.programs },
    { name: "forgetting the programs", act: () => children.close(), ms: ms.ledger },
    { name: "giving back the state folder", act: () => claim.release(), ms: ms.claim },
    { name: "removing the temporary folder", act: () => removeTemporary(deps), ms: ms.temporary },
  ], (message) => writeLog({ level: "warn", message }));
  if (liveThreads() > 0) writeLog({ level: "warn", message: stuckThread });
}

/** Leaves to the next host what is not removed in time. */
async function clearScratch({ claim, trash }: HeldState): Promise<void> {
  await trash.take(join(claim.folder, "scratch"));
  await trash.settled();
}

async function writeLast({ log, lateEnds }: HostDeps): Promise<void> {
  await log.settled();
  await lateEnds.close();
}

async function closeJournal(
  { log, stopKeeping, journal, history, reserve, health }: HostDeps,
): Promise<void> {
  log.close();
  health.close();
  await history.close();
  await stopKeeping();
  await journal.close();
  await reserve?.close();
}

async function removeTemporary({ temporary, workspaces }: HostDeps): Promise<void> {
  if (temporary === null) return;
  // Else the registrations in people's repositories would outlive their worktrees.
  await workspaces.prune({ olderThanMs: -Infinity });
  await removeTree(temporary);
}

const stuckThread = "A thread of a trusted plugin cannot be ended: only SIGKILL ends this process now.";

/** One step of closing a host. */
export interface CloseStep {
  /** Name of the step for the log, as in "Closing the host: ending sessions took too long". */
  name: string;
  act(): Promise<unknown>;
  /** Longest wait for the step. Milliseconds. */
  ms: number;
}

/** Longest time that closing a host takes. Milliseconds. */
const longestMs = 30_000;

/**
 * Runs the steps one after the other and reports each that is late or fails: a late step is abandoned, a failed one
 * skipped. It never takes longer than 30 seconds: after that it starts the remaining steps and does not wait for them.
 */
export async function closeInSteps(steps: readonly CloseStep[], tell: (message: string) => void): Promise<void> {
  const end = performance.now() + longestMs;
  for (const { name, act, ms } of steps) {
    const waitMs = Math.round(Math.max(0, Math.min(ms, end - performance.now())));
    try {
      if (await within(act(), waitMs)) continue;
      tell(`Closing the host: ${name} took longer than ${waitMs} ms and was left behind.`);
    } catch (error) {
      tell(`Closing the host: ${name} failed: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}
