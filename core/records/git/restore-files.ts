import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { runGit } from "../../ground/platform/processes/git-program.ts";
import { joinNul, pathKey } from "./git-call.ts";
import { pathText, rawChanges } from "./raw-diff.ts";
import { gitInShadow, type ShadowCall, type ShadowRepository, shadowRun, topOf } from "./shadow-repository.ts";

/** Two trees of what lies on the disk: before a write, and its intended content after it. */
export interface Swap {
  ours: string;
  merged: string;
}

/** Options of {@link restoreFiles}. `call` names an index for its own use. */
interface RestoreOptions extends Swap {
  /** The current work tree, for a swap that was cut off long ago; null right after it. */
  now: string | null;
  call: ShadowCall;
}

/**
 * Restores a work tree whose swap was cut off: only the paths of the swap.
 * @throws {BulkheadError} `conflict` when one of them has changed since, `io_error` naming where all is kept
 */
export async function restoreFiles(shadow: ShadowRepository, options: RestoreOptions): Promise<void> {
  const { ours, merged, now, call } = options;
  const changes = await rawChanges(shadow, { from: ours, to: merged, call });
  if (now !== null) await refuseChanged(shadow, { ...options, now });
  const made = changes.filter(({ status }) => status === "A").map(({ path }) => path);
  const replaced = changes.filter(({ status }) => status !== "A").map(({ path }) => path);
  const atTop = { ...call, cwd: topOf(shadow) };
  try {
    // Remove new files first: on a full disk that makes room for the rest.
    await gitInShadow(shadow, ["read-tree", merged], atTop);
    if (made.length > 0) await gitInShadow(shadow, [...removeArgs], { ...atTop, stdin: joinNul(made) });
    await gitInShadow(shadow, ["read-tree", ours], atTop);
    // What was not written yet keeps its time and its mode.
    await runGit(["update-index", "-q", "--refresh"], shadowRun(shadow, atTop));
    if (replaced.length > 0) {
      await gitInShadow(shadow, ["checkout-index", "-f", "-q", "-z", "--stdin"], {
        ...atTop,
        stdin: joinNul(replaced),
      });
    }
  } catch (cause) {
    const message = `Cannot put "${topOf(shadow)}" back as it was: ${cause instanceof Error ? cause.message : cause}`;
    throw new BulkheadError("io_error", message, {
      hint: "Apply again once the cause is mended: all that was there is kept, and put back first.",
      details: { half_written: true, paths: changes.map(({ path }) => pathText(path)).slice(0, 1000) },
      cause,
    });
  }
}

const removeArgs: readonly string[] = [
  // Else git keeps what a sparse checkout leaves out.
  "-c",
  "core.sparseCheckout=false",
  "rm",
  "-f",
  "-q",
  "--ignore-unmatch",
  "--pathspec-from-file=-",
  "--pathspec-file-nul",
];

/** Refuses when a path of the swap exists and matches neither tree: someone has worked on it. */
async function refuseChanged(shadow: ShadowRepository, options: RestoreOptions & { now: string }): Promise<void> {
  const { ours, merged, now, call } = options;
  const [fromOurs, fromMerged, swapped] = await Promise.all([
    rawChanges(shadow, { from: ours, to: now, call }),
    rawChanges(shadow, { from: merged, to: now, call }),
    rawChanges(shadow, { from: ours, to: merged, call }),
  ]);
  const unlikeMerged = new Set(fromMerged.map(({ path }) => pathKey(path)));
  const ofSwap = new Set(swapped.map(({ path }) => pathKey(path)));
  const changed = fromOurs.filter(({ status, path }) => {
    const key = pathKey(path);
    return status !== "D" && ofSwap.has(key) && unlikeMerged.has(key);
  });
  if (changed.length === 0) return;
  const paths = changed.map(({ path }) => pathText(path)).sort();
  throw new BulkheadError(
    "conflict",
    `An apply to "${topOf(shadow)}" was cut off, and since then "${paths[0]}" was changed there.`,
    {
      hint: "Move these files away and apply again: what was there before is put back first.",
      details: { paths: paths.slice(0, 1000) },
    },
  );
}
