import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { runGit } from "../../ground/runtime/git-program.ts";
import { randomId } from "../../ground/runtime/hash.ts";
import { join } from "../../ground/runtime/paths.ts";
import { gitError } from "./git-call.ts";
import { inTheWay } from "./in-the-way.ts";
import { rawChanges } from "./raw-diff.ts";
import { restoreFiles, type Swap } from "./restore-files.ts";
import { gitInShadow, type ShadowCall, type ShadowRepository, shadowRun, topOf } from "./shadow-repository.ts";
import { patchArgs } from "./worktree-diff.ts";

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
  const [first = ""] = paths;
  const named = paths.length === 1 ? `"${first}" is` : `${paths.length} files, "${first}" among them, are`;
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
