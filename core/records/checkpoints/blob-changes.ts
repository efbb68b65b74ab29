import { eachInShadow, type ShadowCall, type ShadowRepository, topOf } from "../git/shadow-repository.ts";
import { pathText } from "../git/raw-diff.ts";

/** A file, link or pointer of a tree. */
export interface BlobEntry {
  /** In octal: `100644`, `100755`, `120000` for a link, `160000` for a pointer to a repository. */
  mode: string;
  id: string;
}

/** One path that differs between two trees. */
export interface BlobChange {
  /** Below the top of the work tree, as bytes: a name need not be text. */
  path: Uint8Array;
  old: BlobEntry | null;
  new: BlobEntry | null;
}

/** Two trees of one work tree, and a call that names any index. */
interface ComparedTrees {
  from: string;
  to: string;
  call: ShadowCall;
}

const diff = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-ext-diff", "--no-textconv"];

/**
 * Lists the paths that differ between two trees, without renames.
 * @throws {BulkheadError} `io_error`, also where one of the trees is no longer there
 */
export async function blobChanges(shadow: ShadowRepository, { from, to, call }: ComparedTrees): Promise<BlobChange[]> {
  const changes: BlobChange[] = [];
  if (from === to) return changes;
  await eachDiffered(shadow, { from, to, call, args: [] }, (path, [old, now]) => {
    changes.push({ path: path.slice(), old, new: now });
  });
  return changes;
}

/**
 * Lists the paths that differ between two trees, and the trees that the second one has and the first one has not.
 * @throws {BulkheadError} as {@link blobChanges}
 */
export async function treeChanges(
  shadow: ShadowRepository,
  { from, to, call }: ComparedTrees,
): Promise<{ changes: BlobChange[]; trees: string[] }> {
  const changes: BlobChange[] = [];
  if (from === to) return { changes, trees: [] };
  const trees = new Set([to]);
  await eachDiffered(shadow, { from, to, call, args: ["-t"] }, (path, entries) => {
    const [old = null, now = null] = entries.map((entry) => entry?.mode === folderMode ? null : entry);
    if (entries[1]?.mode === folderMode) trees.add(entries[1].id);
    if (old !== null || now !== null) changes.push({ path: path.slice(), old, new: now });
  });
  return { changes, trees: [...trees] };
}

/**
 * Returns the ids of the trees in one tree, itself among them; with `from`, only those that it has not.
 * @throws {BulkheadError} as {@link blobChanges}
 */
export async function treesOf(
  shadow: ShadowRepository,
  { from, to, call }: Omit<ComparedTrees, "from"> & { from: string | null },
): Promise<string[]> {
  if (from !== null) return (await treeChanges(shadow, { from, to, call })).trees;
  const ids = new Set([to]);
  const args = ["ls-tree", "-r", "-d", "-z", to];
  await eachInShadow(shadow, args, {
    ...call,
    cwd: topOf(shadow),
    take(record) {
      const [mode, , id = ""] = pathText(record.subarray(0, record.indexOf(tab))).split(" ");
      if (mode === folderMode) ids.add(id);
    },
  });
  return [...ids];
}

const folderMode = "040000";
const tab = 0x09;

/** Hands over the differences as git tells them: a record of modes and ids, and one with the path. */
async function eachDiffered(
  shadow: ShadowRepository,
  { from, to, call, args }: ComparedTrees & { args: readonly string[] },
  take: (path: Uint8Array, entries: [old: BlobEntry | null, now: BlobEntry | null]) => void,
): Promise<void> {
  let header: string | null = null;
  await eachInShadow(shadow, [...diff, ...args, from, to], {
    ...call,
    cwd: topOf(shadow),
    take(record) {
      if (header === null) {
        header = pathText(record);
        return;
      }
      const [oldMode = "", newMode = "", oldId = "", newId = ""] = header.slice(1).split(" ");
      take(record, [entryOf(oldMode, oldId), entryOf(newMode, newId)]);
      header = null;
    },
  });
}

function entryOf(mode: string, id: string): BlobEntry | null {
  return mode === "000000" ? null : { mode, id };
}

/** Whether two entries have the same content and mode. */
export function isSameEntry(one: BlobEntry | null, other: BlobEntry | null): boolean {
  return one?.id === other?.id && one?.mode === other?.mode;
}

/** Folders above a path, the topmost first. */
export function foldersOf(path: string): string[] {
  const folders: string[] = [];
  for (let end = path.indexOf("/"); end !== -1; end = path.indexOf("/", end + 1)) folders.push(path.slice(0, end));
  return folders;
}
