import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { joinNul, lineOf, pathKey } from "./git-call.ts";
import { pathText, rawChanges } from "./raw-diff.ts";
import type { Swap } from "./restore-files.ts";
import { gitInShadow, type ShadowCall, type ShadowRepository, topOf } from "./shadow-repository.ts";

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
  const stdin = joinNul(leftOut);
  await gitInShadow(shadow, ["update-index", "--force-remove", "-z", "--stdin"], { ...atTop, stdin });
  return lineOf(await gitInShadow(shadow, ["write-tree", "--missing-ok"], atTop));
}

function leftOutThere(paths: readonly string[], top: string): BulkheadError {
  const [first = ""] = paths;
  const named = paths.length === 1 ? `"${first}", which` : `${paths.length} files, "${first}" among them, which`;
  return new BulkheadError(
    "conflict",
    `Cannot apply the changes to "${top}": they remove ${named} the sparse checkout there leaves out.`,
    {
      hint: "Nothing was changed. Add the folder there with: git sparse-checkout add. Then apply again.",
      details: { paths: paths.slice(0, 1000) },
    },
  );
}
