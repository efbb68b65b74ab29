import { joinNul, pathKey } from "./git-call.ts";
import { largeAmong } from "./large-files.ts";
import {
  dropFromIndex,
  eachInShadow,
  gitInShadow,
  recordsInShadow,
  type ShadowCall,
  type ShadowRepository,
  treeOfIndex,
} from "./shadow-repository.ts";
import { writeWorkTree } from "./write-work-tree.ts";

interface WholeTree {
  tree: string;
  /** Tracked paths that a sparse checkout leaves out: the tree has them, the disk does not. */
  leftOut: readonly Uint8Array[];
  /** Large files, whose content is not stored. */
  large: readonly Uint8Array[];
}

/**
 * Makes a tree of a work tree's whole content, with every file but the large ones stored in the shadow byte for byte, also where the
 * repository has a filter (large-file pointers, encryption): no filter runs, so the tree has the content on disk.
 * Updates the index, which should be a copy of the user's.
 * @throws {BulkheadError} `io_error` when git fails
 */
export async function writeWholeTree(shadow: ShadowRepository, call: ShadowCall): Promise<WholeTree> {
  const { tree, large = [] } = await writeWorkTree(shadow, call, { storeAll: true, hashLarge: true });
  const { leftOut, others } = await listMarked(shadow, call);
  const filtered = await listFiltered(shadow, { ...call, paths: others });
  if (filtered.length === 0) return { tree, leftOut, large };
  // Their entries hold a filter's output: without the entries, git reads the files again.
  const largeFiltered = await largeAmong(shadow.workdir, filtered);
  const isLarge = new Set(largeFiltered);
  const update = (args: readonly string[], paths: readonly Uint8Array[]) =>
    gitInShadow(shadow, ["update-index", ...args, "-z", "--stdin"], { ...call, stdin: joinNul(paths) });
  await dropFromIndex(shadow, filtered, call);
  await update(["--add", "--remove"], filtered.filter((path) => !isLarge.has(path)));
  await update(["--info-only", "--add", "--remove"], largeFiltered);
  const whole = await treeOfIndex(shadow, call);
  return { tree: whole, leftOut, large: eachOnce([...large, ...largeFiltered]) };
}

/** Leaves out paths that stand there before. */
export function eachOnce(paths: readonly Uint8Array[]): Uint8Array[] {
  return [...new Map(paths.map((path) => [pathKey(path), path])).values()];
}

async function listFiltered(
  shadow: ShadowRepository,
  { paths, ...call }: ShadowCall & { paths: readonly Uint8Array[] },
): Promise<Uint8Array[]> {
  if (paths.length === 0) return [];
  const asked = { ...call, stdin: joinNul(paths) };
  const records = await recordsInShadow(shadow, ["check-attr", "-z", "--stdin", "filter"], asked);
  const filtered: Uint8Array[] = [];
  for (let at = 0; at + 2 < records.length; at += 3) {
    const value = new TextDecoder().decode(records[at + 2]);
    if (value !== "unspecified" && value !== "unset") filtered.push(records[at]!);
  }
  return filtered;
}

interface MarkedPaths {
  /** Left out of the checkout, and not there. */
  leftOut: Uint8Array[];
  others: Uint8Array[];
}

/** Lists the tracked paths of an index: a sparse checkout leaves some out. */
export async function listMarked(shadow: ShadowRepository, call: ShadowCall): Promise<MarkedPaths> {
  const marked: MarkedPaths = { leftOut: [], others: [] };
  const take = (line: Uint8Array) => {
    (line[0] === skipped ? marked.leftOut : marked.others).push(line.subarray(2));
  };
  await eachInShadow(shadow, ["ls-files", "-z", "-t"], { ...call, take });
  return marked;
}

/** Mark of `ls-files -t` for an entry that is left out: `S`. */
const skipped = 0x53;
