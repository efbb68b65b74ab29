import { joinNul, lineOf } from "./git-call.ts";
import { listMarked } from "./left-out.ts";
import { gitInShadow, recordsInShadow, type ShadowCall, type ShadowRepository } from "./shadow-repository.ts";
import { writeWorkTree } from "./write-work-tree.ts";

/**
 * Makes a tree of a work tree's whole content, with every file stored in the shadow byte for byte, also where the
 * repository has a filter (large-file pointers, encryption): no filter runs, so the tree has the content on disk.
 * Updates the index, which should be a copy of the user's.
 * @returns the tree's id
 * @throws {BulkheadError} `io_error` when git fails
 */
export async function writeWholeTree(shadow: ShadowRepository, call: ShadowCall): Promise<string> {
  const { tree } = await writeWorkTree(shadow, call, { storeAll: true });
  const filtered = await listFiltered(shadow, call);
  if (filtered.length === 0) return tree;
  // Their entries hold a filter's output: without the entries, git reads the files again.
  const stdin = joinNul(filtered);
  await gitInShadow(shadow, ["update-index", "--force-remove", "-z", "--stdin"], { ...call, stdin });
  await gitInShadow(shadow, ["update-index", "--add", "--remove", "-z", "--stdin"], { ...call, stdin });
  return lineOf(await gitInShadow(shadow, ["write-tree", "--missing-ok"], call));
}

/** Tracked paths with a filter, but for those that a sparse checkout leaves out. */
async function listFiltered(shadow: ShadowRepository, call: ShadowCall): Promise<Uint8Array[]> {
  const { others } = await listMarked(shadow, call);
  if (others.length === 0) return [];
  const asked = { ...call, stdin: joinNul(others) };
  const records = await recordsInShadow(shadow, ["check-attr", "-z", "--stdin", "filter"], asked);
  const filtered: Uint8Array[] = [];
  for (let at = 0; at + 2 < records.length; at += 3) {
    const value = new TextDecoder().decode(records[at + 2]);
    if (value !== "unspecified" && value !== "unset") filtered.push(records[at]!);
  }
  return filtered;
}
