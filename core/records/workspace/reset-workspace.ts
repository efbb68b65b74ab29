import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { mkdir } from "../../ground/runtime/files.ts";
import { join, relative } from "../../ground/runtime/paths.ts";
import { runGit } from "../../ground/runtime/git-program.ts";
import { copyMissing, largeOf, moveLarge, unchangedLarge } from "../git/large-files.ts";
import { addWorktree, removeWorktree } from "../git/linked-worktree.ts";
import { shadowRun } from "../git/shadow-repository.ts";
import { baseIndex, shadowOver, shadowOverWorktree, type WorktreeBase } from "../git/worktree-start.ts";
import type { WorkspaceRecord } from "./workspace-record.ts";

/**
 * Makes a worktree again as it was at first. Large files, of which the store has no content, stay where they were not
 * changed, and else come from the source.
 * @throws {BulkheadError} `io_error`, before anything is removed where one of them is nowhere as it was
 */
export async function remakeWorktree(record: WorkspaceRecord, base: WorktreeBase, signal: AbortSignal): Promise<void> {
  const { folder, repository: sourceTop, workdir } = record;
  const large = await largeOf(base.store);
  const call = { index: baseIndex, signal };
  const kept = await unchangedLarge(shadowOverWorktree(base, folder), { paths: large, call });
  const others = large.filter((path) => !kept.includes(path));
  const source = shadowOver(base, { top: sourceTop, gitDir: join(base.store, "none") });
  const copied = others.length === 0 ? [] : await unchangedLarge(source, { paths: others, call });
  const lost = others.find((path) => !copied.includes(path));
  if (lost !== undefined) {
    throw new BulkheadError(
      "io_error",
      `Cannot put the worktree back as it was: "${lost}" was changed, and has no copy.`,
    );
  }
  const aside = join(base.store, "large-kept");
  await moveLarge(kept, { from: folder, to: aside });
  await removeWorktree({ folder, sourceTop, signal });
  await addWorktree(base, {
    folder,
    sourceTop,
    signal,
    fill: async (files, filling) => {
      await moveLarge(kept, { from: aside, to: folder });
      await copyMissing(copied, { from: sourceTop, to: folder });
      // Tells git that they are there; all other files are still missing.
      await runGit(["update-index", "-q", "--refresh"], shadowRun(files, filling));
    },
  });
  await mkdir(join(folder, relative(sourceTop, workdir)), { recursive: true });
}
