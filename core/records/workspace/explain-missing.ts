import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { stat } from "../../ground/platform/files/files.ts";
import { quoteWord } from "../../ground/config/grant-command.ts";
import type { WorkspaceRecord } from "./workspace-record.ts";
import type { WorkspaceConflict } from "../../../plugin-sdk/workspace.ts";
import type { WorkspaceFiles } from "./workspace-files.ts";

/**
 * Does something with a worktree and its repository; a failure says which of the two is gone, and what helps then.
 * @throws {BulkheadError} `workdir_missing`; else what `act` throws
 */
export async function explainMissing<T>(record: WorkspaceRecord, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    const { folder, repository, session_id } = record;
    if (!await isFolder(folder)) {
      throw new BulkheadError("workdir_missing", `The worktree of session "${session_id}" was removed: "${folder}".`, {
        hint:
          `Its files are gone. A commit of the agent's is still in the repository: the session's result names it as git_head. ` +
          `Then run: bulkhead session discard ${session_id}`,
        cause: error,
      });
    }
    if (!await isFolder(repository)) {
      throw new BulkheadError("workdir_missing", `The repository "${repository}" is no longer there.`, {
        hint: `Move it back. Or run where it is now: git worktree repair ${quoteWord(folder)}. ` +
          `Then git shows the changes in that folder.`,
        cause: error,
      });
    }
    throw error;
  }
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then((found) => found.isDirectory(), () => false);
}

/**
 * Applies a workspace, and notes in its record what stood in the way, so that a person who comes later sees it.
 * @throws what `apply` throws
 */
export async function noteConflict<T>(
  { files, sessionId }: { files: WorkspaceFiles; sessionId: string },
  apply: () => Promise<T>,
): Promise<T> {
  try {
    return await apply();
  } catch (error) {
    if (error instanceof BulkheadError && error.code === "conflict") {
      const conflict = conflictOf(error);
      await files.read(sessionId).then((record) => files.write({ ...record, conflict })).catch(() => {});
    }
    throw error;
  }
}

function conflictOf({ message, hint, details = {} }: BulkheadError): WorkspaceConflict {
  const { paths } = details as Partial<Pick<WorkspaceConflict, "paths">>;
  return { at: new Date().toISOString(), message, hint: hint ?? null, paths: paths ?? [] };
}
