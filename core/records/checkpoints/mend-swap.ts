import { lstat, readFile } from "../../ground/platform/files/files.ts";
import { asBuffer } from "../../ground/platform/files/as-buffer.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { runGit } from "../../ground/platform/processes/git-program.ts";
import { isBehindLink } from "../git/look-at.ts";
import { pathKey } from "../git/git-call.ts";
import { pathText } from "../git/raw-diff.ts";
import { shadowRun, topOf } from "../git/shadow-repository.ts";
import { type BlobChange, blobChanges, isSameEntry } from "./blob-changes.ts";
import type { PathBack } from "./plan-rewind.ts";
import { blockedBy, endSwap, writeBack } from "./rewind-files.ts";
import { type StoreWork, treeWith } from "./store-work.ts";

/**
 * Finishes a swap that a killed host left. A file that the swap had only begun to write is written; one that someone has
 * changed since stays as it is.
 * @throws {BulkheadError} `io_error`
 */
export async function mendSwap(work: StoreWork, save: () => Promise<void>): Promise<void> {
  const { shadow, record: { swap }, signal } = work;
  if (swap === null) return;
  const { tree: now } = await work.index.look(work);
  const call = { index: "none", signal };
  const diff = async (from: string) => {
    const changes = await blobChanges(shadow, { from, to: now, call });
    return new Map(changes.map((one) => [pathKey(one.path), one]));
  };
  const [unlikeNow, unlikeWant] = [await diff(swap.now), await diff(swap.want)];
  const back: PathBack[] = [];
  for (const one of await blobChanges(shadow, { from: swap.now, to: swap.want, call })) {
    const found = unlikeWant.get(pathKey(one.path));
    if (found === undefined) continue;
    const isUntouched = !unlikeNow.has(pathKey(one.path)) || found.new === null;
    if (isUntouched || await isBegun(work, one)) back.push({ path: one.path, now: found.new, back: one.new });
  }
  const blocked = await blockedBy(shadow, back);
  const paths = back.filter((one) => !blocked.has(pathKey(one.path)) && !isSameEntry(one.now, one.back));
  await writeBack(work, { from: now, to: await treeWith(work, { tree: now, paths }) });
  endSwap(work, swap);
  await save();
}

/** Whether a file has the beginning of what it was to get, and no more: no other program has written to it then. */
async function isBegun({ shadow, signal }: StoreWork, { path, new: wanted }: BlobChange): Promise<boolean> {
  const text = pathText(path);
  const file = join(topOf(shadow), text);
  const found = await lstat(file).catch(() => null);
  if (wanted === null || !found?.isFile() || await isBehindLink(topOf(shadow), text)) return false;
  const bytes = asBuffer(await readFile(file));
  let at = 0;
  let isLike = true;
  const run = shadowRun(shadow, { index: "none", signal });
  const { exit_code } = await runGit(["cat-file", "blob", wanted.id], {
    ...run,
    onStdout(chunk) {
      const piece = bytes.subarray(at, at + chunk.byteLength);
      isLike &&= asBuffer(chunk).subarray(0, piece.byteLength).equals(piece);
      at += piece.byteLength;
    },
  });
  return exit_code === 0 && isLike && at === bytes.byteLength;
}
