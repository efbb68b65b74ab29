import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { realFolder as findRealFolder } from "../../ground/platform/files/real-folder.ts";
import { type GitDeadline, reasonOf, withDeadline } from "./deadline.ts";
import type { GitPlace } from "./find-repository.ts";
import { KnownRepositories, type KnownTrees } from "./known-repositories.ts";
import {
  copyUserIndex,
  makeShadow,
  makeShadowFolder,
  type ShadowCall,
  type ShadowRepository,
} from "./shadow-repository.ts";
import { type WorkTree, writeWorkTree } from "./write-work-tree.ts";
import { removeTree } from "../../ground/platform/files/remove-tree.ts";

/** Recorded content of a working directory. */
export interface Snapshot {
  /** The path as it was given. */
  readonly workdir: string;
  /** The repository's HEAD commit; null without one or outside a repository. */
  readonly head: string | null;
  /** Why no comparison with this snapshot is possible: `git_missing`, `workdir_missing`, a sentence; else null. */
  readonly reason: string | null;
  /** Its storage until it is released; null when there is a reason. */
  readonly held: {
    readonly shadow: ShadowRepository;
    readonly before: WorkTree;
    /** As {@link copyUserIndex} returned it. */
    readonly mark: string | null;
    readonly trees: KnownTrees;
    readonly limits: PlainFolderLimits;
  } | null;
}

/** Options of {@link takeSnapshot}. */
export interface SnapshotOptions extends GitDeadline {
  /** Real absolute path of a folder for the snapshot's files; it is made where there is none. */
  scratchDir: string;
  /** Real absolute paths to leave out, for example the host's own state. */
  exclude?: readonly string[];
  /** Bounds for a folder outside git. */
  limits?: PlainFolderLimits;
  /** Earlier answers of git; default: none. */
  known?: KnownRepositories;
}

/** Name of the shadow's index as it was at the snapshot. */
export const indexBefore = "index-before";

/**
 * Records the content of a working directory, in a shadow repository below `scratchDir`. Writes nothing to the user's
 * repository, and runs nothing that its config names. Release the snapshot when it is no longer needed.
 * @throws only the reason of `signal`; every problem with git or the folder is in `reason`
 */
export async function takeSnapshot(workdir: string, options: SnapshotOptions): Promise<Snapshot> {
  const { scratchDir, exclude = [], limits = plainFolderLimits, known = new KnownRepositories() } = options;
  const making = makeShadowFolder(scratchDir);
  making.catch(() => {});
  let head: string | null = null;
  try {
    return await withDeadline(options, async (signal) => {
      const place: GitPlace = { workdir: await realFolder(workdir), signal };
      const { repository, settings } = await known.find(place);
      head = repository?.head ?? null;
      const folder = await making;
      const [shadow, mark] = await Promise.all([
        makeShadow({ folder, workdir: place.workdir, repository, scratchDir, exclude, settings }),
        copyUserIndex({ folder, repository }, indexBefore),
      ]);
      const { trees } = known;
      const before = await writeBounded(shadow, { index: indexBefore, mark, signal }, { limits, trees });
      return { workdir, head, reason: null, held: { shadow, before, mark, limits, trees } };
    });
  } catch (error) {
    await making.then(removeFolder, () => {});
    options.signal?.throwIfAborted();
    return { workdir, head, reason: reasonOf(error), held: null };
  }
}

/** Removes the files of a snapshot, which is unusable afterwards. Never throws. */
export async function releaseSnapshot(snapshot: Snapshot): Promise<void> {
  if (snapshot.held !== null) await removeFolder(snapshot.held.shadow.folder);
}

/**
 * The real path of a folder.
 * @throws {BulkheadError} `workdir_missing`
 */
export async function realFolder(workdir: string): Promise<string> {
  const real = await findRealFolder(workdir);
  if (real === null) {
    throw new BulkheadError("workdir_missing", `The working directory "${workdir}" is not a folder.`);
  }
  return real;
}

async function removeFolder(folder: string): Promise<void> {
  // A git that was just killed may still have made a file.
  await removeTree(folder).catch(() => undefined);
}

/**
 * Bounds for a folder outside git. No index tells which of its files are unchanged, so all are read: a home folder
 * would take minutes, and would list the changes of other programs.
 */
interface PlainFolderLimits {
  files: number;
  ms: number;
}

/** Small enough that a client that waits for the answer does not give up. */
const plainFolderLimits: PlainFolderLimits = { files: 20_000, ms: 10_000 };

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
