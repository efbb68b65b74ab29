import { utf8Text } from "../../ground/platform/files/text-or-base64.ts";
import { joinBytes } from "../../ground/platform/files/join-bytes.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import { copyWithTime } from "../../ground/platform/files/copy-with-time.ts";
import { access, constants, link, rm } from "../../ground/platform/files/files.ts";
import { runGit } from "../../ground/platform/processes/git-program.ts";
import { join, resolve } from "../../ground/platform/files/paths.ts";
import { isBehindLink, lookAt } from "./look-at.ts";
import { ownCommit } from "./find-repository.ts";
import { gitError, joinNul, pathKey } from "./git-call.ts";
import type { KnownTrees } from "./known-repositories.ts";
import { addHugeFiles, dropHugeFiles, largeAmong, measureFiles } from "./large-files.ts";
import {
  dropFromIndex,
  gitInShadow,
  recordsInShadow,
  type ShadowCall,
  type ShadowRepository,
  shadowRun,
  topOf,
  treeOfIndex,
} from "./shadow-repository.ts";

/** Content of a work tree as a git tree. */
export interface WorkTree {
  /** Id of the tree of the whole work tree. */
  tree: string;
  /** False when files were only hashed, not stored: git then finds only exact renames. */
  stored: boolean;
  /** True when git was not asked to write the tree, because its id was known: see {@link storeTree}. */
  unwritten?: boolean;
  /** Changed files that were hashed and not stored for their size; only where that was asked for. */
  large?: readonly Uint8Array[];
}

interface WriteOptions {
  /** The trees of user's indexes that were written before; default: none. */
  trees?: KnownTrees;
  storeAll?: boolean;
  /** Hash large files without storing them. */
  hashLarge?: boolean;
  /** Changed files that may be read at most. */
  mostFiles?: number;
}

/**
 * Updates the index to the content of the working directory, tracked and untracked, without ignored files, and makes a
 * tree of it. Makes a missing index.
 * @throws {BulkheadError} `io_error` when git fails, `too_large` for more changed files than `mostFiles`
 */
export async function writeWorkTree(
  shadow: ShadowRepository,
  call: ShadowCall,
  { storeAll = false, hashLarge = false, mostFiles = Number.POSITIVE_INFINITY, trees }: WriteOptions = {},
): Promise<WorkTree> {
  const known = typeof call.mark === "string" ? trees?.of(call.mark) : undefined;
  const facts = known?.get();
  // A run of git that pays only for an index that is looked at again. It comes first: a refresh takes such marks away.
  const assuming = facts === undefined ? undefined : facts.assumesNothing ?? assumesNothing(shadow, call);
  const looks = [
    // Without entries that are assumed unchanged, the list below has all that differs.
    Promise.resolve(assuming).then((nothing) => nothing === true || refresh(shadow, call)),
    listChanged(shadow, call),
    // In most sessions nothing differs from the index, and then its tree is the answer.
    facts?.tree ?? writeCopiedTree(shadow, call).catch(() => null),
  ] as const;
  // If one fails, the others still write to the shadow.
  await Promise.allSettled(looks);
  const [isFresh, found, tree] = [await looks[0], await looks[1], await looks[2]];
  if (tree !== null) known?.set({ tree, ...omitUndefined({ assumesNothing: await assuming }) });
  if (isFresh && found.length === 0 && tree !== null) {
    return { tree, stored: true, unwritten: facts !== undefined };
  }
  const changed = isFresh ? found : await withAssumed(found, { shadow, call });
  if (changed.length > mostFiles) throw new BulkheadError("too_large", `There are ${changed.length} files to read.`);
  const { isSmall, huge } = storeAll ? { isSmall: true, huge: [] } : await measureFiles(shadow.workdir, changed);
  const large = hashLarge ? await largeAmong(call.cwd ?? shadow.workdir, changed) : [];
  const apart = new Set([...huge.map(({ path }) => path), ...large]);
  await updateIndex(shadow, changed.filter((path) => !apart.has(path)), { ...call, stored: isSmall });
  await updateIndex(shadow, large, { ...call, stored: false });
  await addHugeFiles(shadow, huge, call);
  await dropOutside(shadow, call);
  const written = await treeOfIndex(shadow, call);
  await dropHugeFiles(shadow, huge, call);
  return { tree: written, stored: isSmall, ...(large.length === 0 ? {} : { large }) };
}

/** Has git write a tree whose id alone was known. The call names the index that it is the tree of. */
export async function storeTree(shadow: ShadowRepository, { unwritten }: WorkTree, call: ShadowCall): Promise<void> {
  if (unwritten === true) await treeOfIndex(shadow, call);
}

/** Adds files that are marked as assumed unchanged and were not: only a refreshed index shows them. */
async function withAssumed(
  found: readonly Uint8Array[],
  { shadow, call }: { shadow: ShadowRepository; call: ShadowCall },
): Promise<Uint8Array[]> {
  const known = new Set(found.map(pathKey));
  const modified = await recordsInShadow(shadow, ["ls-files", "-z", "-m"], call);
  return [...found, ...modified.filter((path) => !known.has(pathKey(path)))];
}

/** The tree of the index as it is; null below the top. Copies it under another name, which git then locks. */
async function writeCopiedTree(shadow: ShadowRepository, call: ShadowCall): Promise<string | null> {
  if (shadow.repository?.prefix !== "") return null;
  const index = `${call.index}-tree`;
  try {
    await linkOrCopy(resolve(shadow.folder, call.index), resolve(shadow.folder, index));
    return await treeOfIndex(shadow, { ...call, index });
  } finally {
    await rm(resolve(shadow.folder, index), { force: true }).catch(() => undefined);
  }
}

/** A file system without a second name for a file gets a copy. A file that is not there stays away. */
async function linkOrCopy(from: string, to: string): Promise<void> {
  await link(from, to).catch(() => copyWithTime(from, to));
}

/**
 * Compares times and sizes, in several threads, also of files marked as assumed unchanged.
 * @returns whether no file of the index has changed
 */
export async function refresh(shadow: ShadowRepository, call: ShadowCall): Promise<boolean> {
  const args = ["update-index", "--unmerged", "--really-refresh"];
  // It names each file that has changed.
  const outcome = await runGit(args, { ...shadowRun(shadow, call), onStdout: () => {} });
  // Exit code 1 means that some files changed.
  if (outcome.exit_code !== 0 && outcome.exit_code !== 1) throw gitError(args, outcome);
  return outcome.exit_code === 0;
}

/** Whether no entry of the index is marked as assumed unchanged. */
async function assumesNothing(shadow: ShadowRepository, call: ShadowCall): Promise<boolean> {
  let isFound = false;
  let begins = true;
  const onStdout = (chunk: Uint8Array) => {
    for (let at = 0; at < chunk.length && !isFound;) {
      // Small letters mark such entries.
      if (begins) isFound = chunk[at]! >= smallA && chunk[at]! <= smallZ;
      const end = chunk.indexOf(0, at);
      begins = end !== -1;
      at = begins ? end + 1 : chunk.length;
    }
  };
  const args = ["ls-files", "-z", "-v"];
  const outcome = await runGit(args, { ...shadowRun(shadow, { ...call, cwd: topOf(shadow) }), onStdout });
  if (outcome.exit_code !== 0) throw gitError(args, outcome);
  return !isFound;
}

const smallA = 0x61;
const smallZ = 0x7a;

/** Lists the paths below the working directory that differ from the index. */
export async function listChanged(shadow: ShadowRepository, call: ShadowCall): Promise<Uint8Array[]> {
  const listed = await recordsInShadow(shadow, ["ls-files", "-z", "-m", "-o", "--exclude-standard"], call);
  const nested = listed.filter((path) => path.at(-1) === slash);
  if (nested.length === 0) return listed;
  const lists = [listed.filter((path) => path.at(-1) !== slash)];
  for (const path of nested) lists.push(await listNested(shadow, path, call));
  return lists.flat();
}

const slash = 0x2f;

/** A repository within: a pointer to its commit, without one its files. Git cannot point to one of another hash. */
async function listNested(shadow: ShadowRepository, path: Uint8Array, call: ShadowCall): Promise<Uint8Array[]> {
  const name = utf8Text(path);
  if (name === null) return [];
  const folder = join(call.cwd ?? shadow.workdir, name);
  const commit = await ownCommit({ workdir: folder, signal: call.signal });
  const length = shadow.repository?.objectFormat === "sha256" ? 64 : 40;
  if (commit !== null) return commit.length === length ? [path.subarray(0, -1)] : [];
  const inner = { ...call, cwd: folder, workTree: folder, index: "no-index" };
  const nested = await listChanged(shadow, inner);
  return nested.map((below) => joinBytes([path, below]));
}

interface UpdateCall extends ShadowCall {
  stored: boolean;
}

/** Puts paths into an index as they are now. @returns those that cannot be read */
export async function updateIndex(
  shadow: ShadowRepository,
  paths: readonly Uint8Array[],
  call: UpdateCall,
): Promise<Uint8Array[]> {
  if (paths.length === 0) return [];
  const args = [
    // Many go into one pack as they are read, which takes a fraction of a file for each.
    ...(call.stored && paths.length > packedFrom ? ["-c", "core.bigFileThreshold=1"] : []),
    "update-index",
    ...(call.stored ? [] : ["--info-only"]),
    "--add",
    "--remove",
    "--replace",
    "-z",
    "--stdin",
  ];
  const outcome = await runGit(args, shadowRun(shadow, { ...call, stdin: joinNul(paths) }));
  if (outcome.exit_code === 0) return [];
  // One unreadable path, or one that is no file any more, fails the whole run; without it the rest passes.
  const { usable, replaced, unread } = await sortOut(shadow.workdir, paths);
  await dropFromIndex(shadow, replaced, call);
  await gitInShadow(shadow, args, { ...call, stdin: joinNul(usable) });
  return unread;
}

/** Paths from which on their contents go into a pack. */
const packedFrom = 64;

interface SortedPaths {
  /** Paths that git can read, or finds missing. */
  usable: Uint8Array[];
  /** Paths where a plain folder, a pipe, a socket or a device replaced a file, or a link replaced its folder. */
  replaced: Uint8Array[];
  /** Paths that stay as the index has them. */
  unread: Uint8Array[];
}

async function sortOut(workdir: string, paths: readonly Uint8Array[]): Promise<SortedPaths> {
  const sorted: SortedPaths = { usable: [], replaced: [], unread: [] };
  for (const path of paths) {
    const name = new TextDecoder().decode(path);
    const file = join(workdir, name);
    const found = await lookAt(file);
    if (found === "unreadable") sorted.unread.push(path);
    else if (await isBehindLink(workdir, name)) sorted.replaced.push(path);
    else if (found === null || found.isSymbolicLink()) sorted.usable.push(path);
    else if (found.isFile()) {
      (await isReadable(file) ? sorted.usable : sorted.unread).push(path);
    } else if (found.isDirectory() && await isReadable(join(file, ".git"))) sorted.usable.push(path);
    else sorted.replaced.push(path);
  }
  return sorted;
}

function isReadable(path: string): Promise<boolean> {
  return access(path, constants.R_OK).then(() => true, () => false);
}

/** Removes paths from the index that the listing must not see. */
export async function dropOutside(shadow: ShadowRepository, call: ShadowCall): Promise<void> {
  if (shadow.repository === null) {
    // Our own index still has files that were untracked before and are ignored now.
    const ignored = await recordsInShadow(shadow, ["ls-files", "-z", "-c", "-i", "--exclude-standard"], call);
    return await dropFromIndex(shadow, ignored, call);
  }
  if (shadow.repository.prefix === "") return;
  // During a merge with conflicts, which may lie outside the working directory, git cannot make a tree.
  const atTop = { ...call, cwd: topOf(shadow) };
  const unmerged = await recordsInShadow(shadow, ["ls-files", "-z", "-u"], atTop);
  await dropFromIndex(shadow, unmerged.map((line) => line.subarray(line.indexOf(0x09) + 1)), atTop);
}
