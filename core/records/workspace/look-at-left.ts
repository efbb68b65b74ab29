import { leftChanges } from "../git/left-changes.ts";
import type { HeldFiles } from "./held-files.ts";
import { isAlive } from "./holder.ts";
import type { WorkspaceFiles } from "./workspace-files.ts";

/**
 * Looks at the folders of sessions whose host was killed. Until then the whole folder of each is held. No content from
 * before is known there any more. Never throws.
 */
export async function lookAtLeft(
  files: WorkspaceFiles,
  { held, skip }: { held: HeldFiles; skip: readonly string[] },
): Promise<void> {
  for (const { session_id } of (await held.list()).filter(({ watch }) => watch !== undefined)) {
    // Another host may be at it.
    await files.alone(session_id, async () => {
      const { watch, ...record } = await held.read(session_id);
      if (watch === undefined || isAlive(watch.holder)) return;
      const left = await leftChanges({ top: record.folder, start: watch.start, snapshot: null, skip });
      await held.write({ ...record, at: new Date().toISOString(), items: left.held });
    }).catch(() => {});
  }
}
