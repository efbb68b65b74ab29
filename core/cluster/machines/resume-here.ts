import { toErrorData } from "../../ground/errors/to-error-data.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import { isInside } from "../../ground/platform/files/paths.ts";
import type { Host } from "../../sessions/host/host.ts";
import type { AfterRestart, Resumable } from "../../sessions/session/interrupted-session.ts";
import type { Repositories } from "./repositories.ts";
import type { RunOf } from "./run-ends.ts";
import type { SharedNotes } from "./shared-notes.ts";

interface ResumeHereDeps {
  /** Null before this machine takes sessions. */
  host: Pick<Host, "resumeLost"> | null;
  notes: Pick<SharedNotes, "claim">;
  repositories: Repositories;
  sharedFolders: readonly string[];
  isKnown(sessionId: string): Promise<boolean>;
  own: RunOf;
  isThere(run: RunOf): boolean;
}

/** Goes on with a session of a lost machine, if its work can be reached here: once only, on one machine. */
export async function resumeHere(resumable: Resumable, deps: ResumeHereDeps): Promise<AfterRestart> {
  const { session_id, request: { workdir } } = resumable;
  const { notes, repositories, sharedFolders, isKnown, own, isThere } = deps;
  const repository = await repositories.of(session_id);
  const isReachable = repository !== null || sharedFolders.some((folder) => isInside(folder, workdir));
  if (deps.host === null || !isReachable) return { reason: "its folder is not one that the machines share" };
  const sessionId = randomId();
  const text = `${sessionId} ${own.machine} ${own.run}`;
  for (let known: string | null = null;;) {
    const held: string = await notes.claim({ name: `resume-${session_id}`, text }, known);
    if (held === text) break;
    const [claimed = "", machine = "", run = ""] = held.split(" ");
    // The claimer may have started it, and what it wrote be on its way: a second start would run it twice.
    if (isThere({ machine, run }) || await isKnown(claimed)) return { resumed_as: claimed };
    known = held;
  }
  const host = deps.host;
  if (repository === null) return await host.resumeLost(resumable, { sessionId });
  try {
    await repositories.remember(sessionId, repository);
    return await repositories.use(
      repository,
      repository.workdir,
      (clone) => host.resumeLost(resumable, { sessionId, clone }),
    );
  } catch (error) {
    return { reason: toErrorData(error).message.replace(/\.$/, "") };
  }
}
