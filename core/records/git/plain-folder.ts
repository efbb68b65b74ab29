import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { withDeadline } from "./deadline.ts";
import type { KnownTrees } from "./known-trees.ts";
import type { ShadowCall, ShadowRepository } from "./shadow-repository.ts";
import { type WorkTree, writeWorkTree } from "./write-work-tree.ts";

/**
 * Bounds for a folder outside git. No index tells which of its files are unchanged, so all are read: a home folder
 * would take minutes, and would list the changes of other programs.
 */
export interface PlainFolderLimits {
  files: number;
  ms: number;
}

/** Small enough that a client that waits for the answer does not give up. */
export const plainFolderLimits: PlainFolderLimits = { files: 20_000, ms: 10_000 };

/**
 * Makes a tree of a working directory's content as {@link writeWorkTree}, within the bounds if it is a plain folder.
 * @throws {BulkheadError} with a sentence for the person when a plain folder is too large; as {@link writeWorkTree}
 */
export async function writeBounded(
  shadow: ShadowRepository,
  call: ShadowCall,
  { limits: { files, ms }, trees }: { limits: PlainFolderLimits; trees: KnownTrees },
): Promise<WorkTree> {
  if (shadow.repository !== null) return await writeWorkTree(shadow, call, { trees });
  const late = `not a git repository, and reading its files takes longer than ${ms / 1000} s`;
  return await withDeadline({ signal: call.signal, timeoutMs: ms, late }, async (signal) => {
    return await writeWorkTree(shadow, { ...call, signal }, { mostFiles: files }).catch((error: unknown) => {
      if (!(error instanceof BulkheadError) || error.code !== "too_large") throw error;
      const count = files.toLocaleString("en-US");
      throw new BulkheadError("too_large", `not a git repository, and it has more than ${count} files to compare`);
    });
  });
}
