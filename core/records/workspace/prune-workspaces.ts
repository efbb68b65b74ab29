import type { PruneReport } from "../../../plugin-sdk/workspace.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import { isThere } from "../git/look-at.ts";
import { isAlive } from "./holder.ts";
import { homeOf, removeAll, removeFiles } from "./open-workspace.ts";
import type { WorkspaceFiles } from "./workspace-files.ts";
import type { WorkspaceRecord } from "./workspace-record.ts";

/**
 * Removes workspaces whose session ended, or whose host was killed, longer ago than that, with all their content; from
 * younger ones only the remains of an interrupted operation. Leaves a half-written source for a person.
 */
export async function pruneWorkspaces(
  files: WorkspaceFiles,
  { olderThanMs, now = Date.now() }: { olderThanMs: number; now?: number },
): Promise<PruneReport> {
  const report: PruneReport = { removed: [], failed: [] };
  for (const { session_id } of await files.list()) {
    try {
      // An apply may have started since it was listed.
      const isGone = await files.alone(session_id, async () => {
        return await pruneOne(files, { record: await files.read(session_id), before: now - olderThanMs });
      });
      if (isGone) report.removed.push(session_id);
    } catch (error) {
      report.failed.push({ session_id, error: toErrorData(error) });
    }
  }
  return report;
}

async function pruneOne(
  files: WorkspaceFiles,
  { record, before }: { record: WorkspaceRecord; before: number },
): Promise<boolean> {
  if (isAlive(record.holder) || record.state === "applying") return false;
  const isOld = Date.parse(record.ended_at ?? record.created_at) < before;
  if (isOld || record.state === "opening") {
    await removeAll(files, record);
    return true;
  }
  const isDecided = record.state === "applied" || record.state === "discarded";
  if (isDecided && await isThere(homeOf(files, record.session_id))) await removeFiles(files, record);
  return false;
}
