import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { WorkspaceConflict } from "../../../plugin-sdk/workspace.ts";
import type { WorkspaceFiles } from "./workspace-files.ts";

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
