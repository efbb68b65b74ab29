import { rm } from "../../ground/platform/files/files.ts";
import { joinBytes } from "../../ground/platform/files/join-bytes.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import { isBelow, join, relative, resolve, sep } from "../../ground/platform/files/paths.ts";
import { indexLine, joinNul } from "../git/git-call.ts";
import { gitInShadow, type ShadowCall, type ShadowRepository, topOf, treeOfIndex } from "../git/shadow-repository.ts";
import { type BlobChange, blobChanges, type BlobEntry, treesOf } from "./blob-changes.ts";
import { blobsOf } from "./kept-objects.ts";
import type { OwnIndex } from "./own-index.ts";
import type { StoreRecord } from "./store-record.ts";

/** An open store, as those see it who work on it alone. */
export interface StoreWork {
  shadow: ShadowRepository;
  index: OwnIndex;
  record: StoreRecord;
  /** Real absolute paths of which nothing is ever stored. */
  exclude: readonly string[];
  /** The user's settings that say which files git sees. */
  settings: ReadonlyMap<string, string>;
  signal: AbortSignal;
}

/**
 * Returns the paths that lie in the work tree, relative to its top and with `/`.
 * @param paths absolute, or relative to the working directory
 */
export function belowTop(shadow: ShadowRepository, paths: readonly string[]): string[] {
  const top = topOf(shadow);
  return paths.map((path) => resolve(shadow.workdir, path)).filter((path) => isBelow(top, path))
    .map((path) => relative(top, path).split(sep).join("/"));
}

/** Runs something with an index of its own in the store, which is removed afterwards. */
export async function withSpareIndex<T>(
  { shadow, signal }: Pick<StoreWork, "shadow" | "signal">,
  act: (call: ShadowCall) => Promise<T>,
): Promise<T> {
  const index = `spare-${randomId()}`;
  try {
    return await act({ index, signal, cwd: topOf(shadow) });
  } finally {
    for (const name of [index, `${index}.lock`]) {
      await rm(join(shadow.folder, name), { force: true }).catch(() => undefined);
    }
  }
}

/**
 * Makes a tree like another one but for some paths.
 * @throws {BulkheadError} `io_error`
 */
export async function treeWith(
  work: Pick<StoreWork, "shadow" | "signal">,
  { tree, paths }: { tree: string; paths: readonly { path: Uint8Array; back: BlobEntry | null }[] },
): Promise<string> {
  if (paths.length === 0) return tree;
  return await withSpareIndex(work, async (call) => {
    await gitInShadow(work.shadow, ["read-tree", tree], call);
    const nothing = "0".repeat(tree.length);
    // A file may come back where a folder is, and the other way round.
    const gone = paths.map(({ path }) => indexLine(`0 ${nothing}`, path));
    const back = paths.flatMap(({ path, back: entry }) =>
      entry === null ? [] : [indexLine(`${entry.mode} ${entry.id} 0`, path)]
    );
    const stdin = joinBytes([joinNul(gone), joinNul(back)]);
    await gitInShadow(work.shadow, ["update-index", "--add", "-z", "--index-info"], { ...call, stdin });
    return await treeOfIndex(work.shadow, call);
  });
}

/**
 * Returns the ids of all that a store needs in order to take its turns back, of the contents only those that changed.
 * What is no longer there to be asked is left out.
 */
export async function neededObjects(
  { shadow, record, signal }: Pick<StoreWork, "shadow" | "record" | "signal">,
  now: string,
): Promise<Set<string>> {
  const ids = new Set<string>();
  const call: ShadowCall = { index: "none", signal };
  let from: string | null = null;
  const add = async (...roots: string[]) => {
    for (const to of roots) {
      for (const id of await treesOf(shadow, { from, to, call }).catch(() => [])) ids.add(id);
      from = to;
    }
  };
  const pairs = [
    ...record.turns.map(({ before, after }) => [before, after ?? before] as const),
    ...record.rewinds.map((swap) => [swap.now, swap.want] as const),
  ];
  for (const [before, after] of pairs) {
    await add(before, after);
    const changes: BlobChange[] = await blobChanges(shadow, { from: before, to: after, call }).catch(() => []);
    for (const id of blobsOf(changes)) ids.add(id);
  }
  await add(...(record.begun === null ? [] : [record.begun.before]), now);
  return ids;
}
