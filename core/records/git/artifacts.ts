import type { Artifact } from "../../../plugin-sdk/result.ts";
import { copyWithTime } from "../../ground/platform/files/copy-with-time.ts";
import { rm } from "../../ground/platform/files/files.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import { changeLines } from "./change-lines.ts";
import { foremostChanges } from "./foremost-changes.ts";
import { inTurns } from "../../ground/platform/engine/next-turn.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { type GitDeadline, reasonOf, withDeadline } from "./deadline.ts";
import { type GitPlace, readHead, readingEnv } from "./find-repository.ts";
import { eachRecord, joinNul, pathKey } from "./git-call.ts";
import { listMarked } from "./whole-tree.ts";
import { pathText, type RawChange, RawDiffReader } from "./raw-diff.ts";
import { indexBefore, realFolder, type Snapshot, writeBounded } from "./snapshot.ts";
import {
  copyUserIndex,
  eachInShadow,
  gitInShadow,
  type ShadowCall,
  type ShadowRepository,
  shadowRun,
  topOf,
} from "./shadow-repository.ts";
import { storeTree, type WorkTree } from "./write-work-tree.ts";
import { digestFile } from "../../ground/platform/files/file-digest.ts";
import { isBehindLink, lookAt } from "./look-at.ts";
import { hugeBytes } from "./large-files.ts";

/** Changed paths, the foremost of them described: see {@link foremostChanges}. */
export interface DescribedChanges {
  artifacts: Artifact[];
  /** The other changes; none but in floods of files. */
  others: readonly RawChange[];
}

/** Changes since a snapshot, or the reason why they are unknown. `head` is the current HEAD commit. */
export type ArtifactList =
  | DescribedChanges & { head: string | null }
  | { artifacts: null; reason: string; head: string | null };

/**
 * Lists the changes below a working directory since the snapshot, by comparing trees of its content then and now,
 * sorted by path; of a flood of files only the foremost. A new file is `created` when the repository tracks it now, in a
 * commit or the index, else `untracked`; in a plain folder every new file is `untracked`. Ignored files are left out, and
 * submodules and nested repositories are pointers. Digests are of the current files, null for those over 1 GiB. A file
 * that was ignored and no longer is counts as new; one over 1 GiB counts as modified when its time changed. A name that
 * is not UTF-8 holds U+FFFD instead of the bad bytes.
 * @throws only the reason of `signal`; every problem with git or the folder is in `reason`
 */
export async function listArtifacts(before: Snapshot, options: GitDeadline = {}): Promise<ArtifactList> {
  const { held } = before;
  if (held === null) return { artifacts: null, reason: before.reason ?? "Nothing is held.", head: before.head };
  const index = `index-${randomId()}`;
  let head = before.head;
  try {
    return await withDeadline(options, async (signal) => {
      const workdir = await realFolder(held.shadow.workdir);
      const call = await startLook(held, { index, signal });
      const [after] = await Promise.all([
        writeBounded(held.shadow, call, held),
        readHead({ workdir, signal }, held.shadow.repository ?? undefined).then((now) => head = now),
      ]);
      return { ...await describeTrees(held.shadow, { before: held.before, after, call, workdir }), head };
    });
  } catch (error) {
    options.signal?.throwIfAborted();
    return { artifacts: null, reason: reasonOf(error), head };
  } finally {
    await rm(join(held.shadow.folder, index), { force: true }).catch(() => undefined);
  }
}

/** The user's index records the unchanged files since the last commit; for a plain folder only our own does. */
async function startLook(
  { shadow, mark: before }: NonNullable<Snapshot["held"]>,
  call: Pick<ShadowCall, "signal"> & { index: string },
): Promise<ShadowCall> {
  if (shadow.repository === null) {
    await copyWithTime(join(shadow.folder, indexBefore), join(shadow.folder, call.index));
    return call;
  }
  const mark = await copyUserIndex(shadow, call.index);
  if (mark === null || mark !== before) await lookAtLeftOut(shadow, call);
  return { ...call, mark };
}

/** Has git look at files that were marked as left out since the snapshot: an agent could hide removals so. */
async function lookAtLeftOut(shadow: ShadowRepository, call: ShadowCall): Promise<void> {
  const atTop = { ...call, cwd: topOf(shadow) };
  const { leftOut } = await listMarked(shadow, atTop);
  if (leftOut.length === 0) return;
  const before = await listMarked(shadow, { ...atTop, index: indexBefore });
  const known = new Set(before.leftOut.map(pathKey));
  const stdin = joinNul(leftOut.filter((path) => !known.has(pathKey(path))));
  if (stdin.length === 0) return;
  await gitInShadow(shadow, ["update-index", "--no-skip-worktree", "-z", "--stdin"], { ...atTop, stdin });
}

/** The field that says how many changes a list leaves out; none where it has all. */
export function omittedCount(others: readonly unknown[]): { artifacts_omitted?: number } {
  return others.length === 0 ? {} : { artifacts_omitted: others.length };
}

/** Two trees of one work tree, the second of its current content. */
interface SnapshotComparison {
  before: WorkTree;
  after: WorkTree;
  call: ShadowCall;
}

/**
 * The changes between two trees, the artifacts sorted by path.
 * @param compared `workdir` is the real absolute path that the artifacts' paths are below
 */
export async function describeTrees(
  shadow: ShadowRepository,
  compared: SnapshotComparison & { workdir: string },
): Promise<DescribedChanges> {
  const { workdir, call: { signal } } = compared;
  const { changes, diff } = await compareTrees(shadow, compared);
  const counting = changeLines(shadow, { changes, diff, call: { ...compared.call, cwd: topOf(shadow) } });
  counting.catch(() => {});
  const tracked = await trackedOf(await newPaths(changes), { workdir, signal });
  const { foremost, others } = await foremostChanges(changes, tracked);
  return { artifacts: await describeAll(foremost, { workdir, tracked, lines: await counting, signal }), others };
}

/** Keys of the paths that were not there before. */
async function newPaths(changes: readonly RawChange[]): Promise<Set<string>> {
  const keys = new Set<string>();
  await inTurns(changes, ({ status, path }) => {
    if (status === "A" || status === "R") keys.add(pathKey(path));
  });
  return keys;
}

/** Changes below the working directory, with paths relative to it, and how git was asked for them. */
async function compareTrees(
  shadow: ShadowRepository,
  { before, after, call }: SnapshotComparison,
): Promise<{ changes: RawChange[]; diff: string[] }> {
  if (before.tree === after.tree) return { changes: [], diff: [] };
  await storeTree(shadow, before, { ...call, index: indexBefore });
  await storeTree(shadow, after, call);
  const prefix = shadow.repository?.prefix ?? "";
  const relative = prefix === "" ? [] : [`--relative=${prefix}`];
  const raw = ["diff-tree", "-r", "-z", "--raw"];
  const diffOf = (renames: string) => ["--no-ext-diff", "--no-textconv", ...relative, renames, before.tree, after.tree];
  const atTop = { ...call, cwd: topOf(shadow) };
  if (before.stored && after.stored) {
    const reader = new RawDiffReader();
    const diff = diffOf("-M");
    const outcome = await eachRecord([...raw, ...diff], shadowRun(shadow, atTop), (record) => reader.read(record));
    if (outcome.exit_code === 0) return { changes: reader.end(), diff };
    // A partial clone lacks old contents, so only exact renames can be found.
  }
  const reader = new RawDiffReader();
  const diff = diffOf("-M100%");
  await eachInShadow(shadow, [...raw, ...diff], { ...atTop, take: (record) => reader.read(record) });
  return { changes: reader.end(), diff };
}

async function describeAll(
  changes: readonly RawChange[],
  context: ChangeOptions & { signal: AbortSignal },
): Promise<Artifact[]> {
  const artifacts: Artifact[] = [];
  let next = 0;
  const describeNext = async (): Promise<void> => {
    for (let change = changes[next++]; change !== undefined; change = changes[next++]) {
      context.signal.throwIfAborted();
      const artifact = await describeChange(change, context);
      if (artifact !== null) artifacts.push(artifact);
    }
  };
  await Promise.all(Array.from({ length: filesAtOnce }, describeNext));
  return artifacts.sort((a, b) => a.path < b.path ? -1 : a.path > b.path ? 1 : 0);
}

/** Files that are hashed concurrently. */
const filesAtOnce = 8;

/**
 * Those of some paths below the working directory that the user's repository tracks now, in its index or its HEAD commit;
 * none outside a repository.
 * @param keys of the paths, as {@link pathKey} gives them
 */
async function trackedOf(keys: ReadonlySet<string>, place: GitPlace): Promise<Set<string>> {
  const run = { cwd: place.workdir, env: readingEnv(), signal: place.signal };
  const tracked = new Set<string>();
  if (keys.size === 0) return tracked;
  const note = (path: Uint8Array) => {
    const key = pathKey(path);
    if (keys.has(key)) tracked.add(key);
  };
  // Either fails where there is no repository, no work tree or no commit, and then tracks nothing.
  await Promise.all([
    eachRecord(["ls-files", "-z"], run, note),
    eachRecord(["ls-tree", "-r", "-z", "--name-only", "HEAD"], run, note),
  ]);
  return tracked;
}

interface ChangeOptions {
  /** Real absolute path that the change's paths are below. */
  workdir: string;
  tracked: ReadonlySet<string>;
  /** Lines of the changes, by the keys of their paths. */
  lines: Awaited<ReturnType<typeof changeLines>>;
}

/** Describes one change as an artifact; null for a file that still exists and is only hidden. */
async function describeChange(change: RawChange, context: ChangeOptions): Promise<Artifact | null> {
  const path = pathText(change.path);
  if (change.status === "D") {
    if (await isStillThere(context.workdir, change.path)) return null;
    const kind = kindOf(change.oldMode);
    return { path, change: "deleted", kind, sha256: null, bytes: null, ...linesOf(change, { kind, ...context }) };
  }
  const renamed = change.from !== null && !(await isStillThere(context.workdir, change.from)) ? change.from : null;
  const content = await contentOf(change, context);
  return {
    path,
    change: renamed !== null ? "renamed" : change.status === "M" ? "modified" : newness(change.path, context),
    ...(renamed === null ? {} : { from: pathText(renamed) }),
    ...content,
    ...(renamed === change.from ? linesOf(change, { ...content, ...context }) : {}),
  };
}

function linesOf(
  { path }: RawChange,
  { kind, lines }: Pick<Artifact, "kind"> & Pick<ChangeOptions, "lines">,
): Pick<Artifact, "lines"> {
  const counted = lines.get(pathKey(path));
  return kind !== "file" || counted === undefined ? {} : { lines: counted };
}

function newness(path: Uint8Array, context: ChangeOptions): "created" | "untracked" {
  return context.tracked.has(pathKey(path)) ? "created" : "untracked";
}

async function contentOf(
  change: RawChange,
  context: ChangeOptions,
): Promise<Pick<Artifact, "kind" | "sha256" | "bytes">> {
  const kind = kindOf(change.newMode);
  if (kind === "submodule") return { kind, sha256: null, bytes: null };
  const digest = await digestFile(join(context.workdir, pathText(change.path)), { maxBytes: hugeBytes });
  return { kind, sha256: digest?.sha256 ?? null, bytes: digest?.bytes ?? null };
}

async function isStillThere(workdir: string, path: Uint8Array): Promise<boolean> {
  const name = pathText(path);
  const found = await lookAt(join(workdir, name));
  // An unreadable file may still exist.
  if (found === "unreadable") return true;
  return found !== null && (found.isFile() || found.isSymbolicLink()) && !(await isBehindLink(workdir, name));
}

function kindOf(mode: string): Artifact["kind"] {
  if (mode === "120000") return "symlink";
  return mode === "160000" ? "submodule" : "file";
}
