import { fewAtOnce } from "./private/few-entries.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { runGit } from "../../ground/platform/processes/git-program.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { gitError, namedPaths, pathKey } from "./git-call.ts";
import { pathText, type RawChange, rawChanges } from "./raw-diff.ts";
import { restoreFiles, type Swap } from "./restore-files.ts";
import {
  dropFromIndex,
  gitInShadow,
  type ShadowCall,
  type ShadowRepository,
  shadowRun,
  topOf,
  treeOfIndex,
} from "./shadow-repository.ts";
import { patchArgs } from "./worktree-diff.ts";
import { lstat, readdir } from "../../ground/platform/files/files.ts";

/** A swap, with an index and a folder of the store for the work on it. */
interface SwapCall extends Swap {
  call: ShadowCall;
  scratch: string;
}

/**
 * Refuses a swap whose new files would be where ignored files are.
 * @throws {BulkheadError} `conflict`
 */
export async function refuseInTheWay(source: ShadowRepository, { ours, merged, call }: SwapCall): Promise<void> {
  const top = topOf(source);
  const changes = await rawChanges(source, { from: ours, to: merged, call });
  const paths = await inTheWay(top, changes.filter(({ newMode }) => newMode !== pointer));
  if (paths.length === 0) return;
  const named = namedPaths(paths, { one: " is", many: ", are" });
  throw new BulkheadError(
    "conflict",
    `Cannot apply the changes to "${top}": ${named} new, and in the way is a file that git ignores there.`,
    {
      hint: "Nothing was changed. Move what is there away, and apply again.",
      details: { paths: paths.slice(0, 1000) },
    },
  );
}

/**
 * Writes the differences into the work tree; a failure in the middle restores the old files.
 * @throws {BulkheadError} `io_error`
 */
export async function writeSwap(source: ShadowRepository, { ours, merged, call, scratch }: SwapCall): Promise<void> {
  const patch = await writePatch(source, { from: ours, to: merged, call, scratch });
  if (patch === null) return;
  // A deadline must not leave half of it, so nothing aborts the writing itself.
  const writing = { ...call, signal: new AbortController().signal };
  const check = ["apply", "--check", "--whitespace=nowarn", patch];
  const checked = await runGit(check, shadowRun(source, call));
  if (checked.exit_code !== 0) {
    throw notApplied(source, { cause: gitError(check, checked), hint: "Nothing was changed." });
  }
  const args = ["apply", "--whitespace=nowarn", patch];
  const outcome = await runGit(args, shadowRun(source, writing));
  if (outcome.exit_code === 0) return;
  await restoreFiles(source, { ours, merged, now: null, call: { ...writing, index: `${scratch}/restored` } });
  throw notApplied(source, {
    cause: gitError(args, outcome),
    hint: "What was written until then has been put back as it was.",
  });
}

function notApplied(source: ShadowRepository, { cause, hint }: { cause: BulkheadError; hint: string }): BulkheadError {
  return new BulkheadError("io_error", `Cannot apply the changes to "${topOf(source)}": ${cause.message}`, {
    hint,
    cause,
  });
}

/** Path of a file with the patch; null when nothing differs but pointers to repositories, which no patch can carry. */
export async function writePatch(
  source: ShadowRepository,
  { from, to, call, scratch }: { from: string; to: string; call: ShadowCall; scratch: string },
): Promise<string | null> {
  const changes = await rawChanges(source, { from, to, call });
  if (changes.every(({ oldMode, newMode }) => oldMode === pointer || newMode === pointer)) return null;
  const file = join(source.folder, scratch, `${randomId()}.patch`);
  await gitInShadow(source, [...patchArgs, "--ignore-submodules=all", `--output=${file}`, from, to], call);
  return file;
}

const pointer = "160000";

/**
 * The trees of a swap as they lie on the disk: without the files that a sparse checkout leaves out. One of these that the
 * swap changes is a new file there.
 * @throws {BulkheadError} `conflict` for a removal of one: a file that is not there cannot be removed
 */
export async function swapOnDisk(
  source: ShadowRepository,
  { ours, merged, leftOut, call }: Swap & { leftOut: readonly Uint8Array[]; call: ShadowCall },
): Promise<Swap> {
  if (leftOut.length === 0) return { ours, merged };
  const away = new Set(leftOut.map(pathKey));
  const changes = (await rawChanges(source, { from: ours, to: merged, call }))
    .filter(({ path }) => away.has(pathKey(path)));
  const removed = changes.filter(({ status }) => status === "D").map(({ path }) => pathText(path));
  if (removed.length > 0) throw leftOutThere(removed.sort(), topOf(source));
  const changed = new Set(changes.map(({ path }) => pathKey(path)));
  return {
    ours: await treeOnDisk(source, { tree: ours, leftOut, call }),
    merged: await treeOnDisk(source, {
      tree: merged,
      leftOut: leftOut.filter((path) => !changed.has(pathKey(path))),
      call,
    }),
  };
}

/** A tree without the paths that a sparse checkout leaves out. */
export async function treeOnDisk(
  shadow: ShadowRepository,
  { tree, leftOut, call }: { tree: string; leftOut: readonly Uint8Array[]; call: ShadowCall },
): Promise<string> {
  if (leftOut.length === 0) return tree;
  const atTop = { ...call, cwd: topOf(shadow) };
  await gitInShadow(shadow, ["read-tree", tree], atTop);
  await dropFromIndex(shadow, leftOut, atTop);
  return await treeOfIndex(shadow, atTop);
}

function leftOutThere(paths: readonly string[], top: string): BulkheadError {
  const named = namedPaths(paths, { one: ", which" });
  return new BulkheadError(
    "conflict",
    `Cannot apply the changes to "${top}": they remove ${named} the sparse checkout there leaves out.`,
    {
      hint: "Nothing was changed. Add the folder there with: git sparse-checkout add. Then apply again.",
      details: { paths: paths.slice(0, 1000) },
    },
  );
}

type Kind = "folder" | "entry" | null;

/**
 * Finds what lies on the disk where changes make new files, and is in no tree: an ignored file, or a folder with one.
 * @param top folder that the changes' paths are below
 * @returns the paths of the new files
 */
export async function inTheWay(
  top: string,
  changes: readonly Pick<RawChange, "status" | "path">[],
): Promise<string[]> {
  const removed = new Set(changes.filter(({ status }) => status === "D").map(({ path }) => pathText(path)));
  const made = changes.filter(({ status }) => status === "A").map(({ path }) => pathText(path));
  const kinds = new Map<string, Promise<Kind>>();
  const kindOf = (path: string): Promise<Kind> => {
    const known = kinds.get(path) ?? lookAt(join(top, path));
    kinds.set(path, known);
    return known;
  };
  const found: string[] = [];
  await fewAtOnce(made, async (path) => {
    if (!await isFree(path)) found.push(path);
  });
  return found.sort();

  async function isFree(path: string): Promise<boolean> {
    for (let end = path.indexOf("/"); end !== -1; end = path.indexOf("/", end + 1)) {
      const folder = path.slice(0, end);
      const kind = await kindOf(folder);
      if (kind !== "folder") return kind === null || removed.has(folder);
    }
    const kind = await lookAt(join(top, path));
    if (kind !== "folder") return kind === null;
    const names = await readdir(join(top, path)).catch(() => []);
    return names.length === 0 || await isEmptied(path);
  }

  /** Whether the changes remove all that is in a folder, so that git removes the folder as well. */
  async function isEmptied(folder: string): Promise<boolean> {
    const entries = await readdir(join(top, folder), { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      const path = `${folder}/${entry.name}`;
      const isGone = entry.isDirectory() ? await isEmptied(path) : removed.has(path);
      if (!isGone) return false;
    }
    return entries.length > 0;
  }
}

function lookAt(path: string): Promise<Kind> {
  return lstat(path).then((found) => found.isDirectory() ? "folder" : "entry", () => null);
}
