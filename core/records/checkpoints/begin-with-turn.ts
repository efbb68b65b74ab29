import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { readFile, writeFile } from "../../ground/platform/files/files.ts";
import { join, relative, sep } from "../../ground/platform/files/paths.ts";
import { blobsOf, keepObjects } from "./kept-objects.ts";
import { treeChanges } from "./blob-changes.ts";
import type { TurnTree } from "./turn-tree.ts";
import { pathKey } from "../git/git-call.ts";
import { pathText } from "../git/raw-diff.ts";
import {
  dropFromIndex,
  gitInShadow,
  recordsInShadow,
  type ShadowCall,
  shadowRun,
  treeOfIndex,
} from "../git/shadow-repository.ts";
import { baseIndex, shadowOver, type takeBase } from "../git/worktree-start.ts";
import { runGit } from "../../ground/platform/processes/git-program.ts";

type TakenBase = Awaited<ReturnType<typeof takeBase>>;

/**
 * Gives a base the files of a turn, instead of those that are there now: those of the turn's working directory, and else what is there.
 * Takes over what the checkpoint has of them, so that the base needs it no more.
 * @throws {BulkheadError} `not_found` where contents are gone, `io_error`
 */
export async function beginWithTurn(
  { base, large }: TakenBase,
  { turn, sourceTop, signal }: { turn: TurnTree; sourceTop: string; signal: AbortSignal },
): Promise<TakenBase> {
  const shadow = shadowOver(base, { top: sourceTop, gitDir: join(base.store, "none") });
  const call: ShadowCall = { index: baseIndex, signal, cwd: sourceTop };
  const lenders = join(base.store, "objects/info/alternates");
  const before = await readFile(lenders, "utf8");
  try {
    await writeFile(lenders, `${before}${lenderLine(join(turn.store, "objects"))}`);
    const prefix = relative(turn.top, turn.workdir).split(sep).join("/");
    await putTree(turn.tree, { prefix, shadow, call });
    const tree = await treeOfIndex(shadow, call);
    const { changes, trees } = await treeChanges(shadow, { from: base.tree, to: tree, call });
    const wanted = blobsOf(changes.map((one) => ({ ...one, old: null })));
    const { missing } = await keepObjects(shadow, { ids: new Set([...wanted, ...trees]), call });
    if (missing.size > 0) {
      throw gone(
        changes.filter(({ new: now }) => now !== null && missing.has(now.id)).map(({ path }) => pathText(path)),
      );
    }
    const differ = new Set(changes.map(({ path }) => pathKey(path)));
    return {
      base: { ...base, tree, commit: await isCommit(turn.head, { shadow, call }) ? turn.head! : base.commit },
      large: large.filter((path) => !differ.has(pathKey(path))),
    };
  } finally {
    await writeFile(lenders, before);
  }
}

interface TurnShadow {
  shadow: ReturnType<typeof shadowOver>;
  call: ShadowCall;
}

/** Puts a tree into the index, instead of all that is there below the prefix. */
async function putTree(tree: string, { prefix, shadow, call }: TurnShadow & { prefix: string }): Promise<void> {
  if (prefix === "") return void await gitInShadow(shadow, ["read-tree", tree], call);
  const now = await recordsInShadow(shadow, ["ls-files", "-z", "--", prefix], call);
  await dropFromIndex(shadow, now, call);
  const isThere = await runGit(["cat-file", "-e", `${tree}:${prefix}`], shadowRun(shadow, call));
  if (isThere.exit_code !== 0) return;
  await gitInShadow(shadow, ["read-tree", `--prefix=${prefix}/`, `${tree}:${prefix}`], call);
}

async function isCommit(head: string | null, { shadow, call }: TurnShadow): Promise<boolean> {
  if (head === null) return false;
  return (await runGit(["cat-file", "-e", `${head}^{commit}`], shadowRun(shadow, call))).exit_code === 0;
}

function lenderLine(objects: string): string {
  return `"${objects.replace(/["\\]/g, "\\$&").replace(/\n/g, "\\n")}"\n`;
}

function gone(paths: readonly string[]): BulkheadError {
  const [first = ""] = paths;
  return new BulkheadError("not_found", `Cannot begin with the files of the turn: "${first}" is no longer kept.`, {
    hint: "It was too large to keep, or git has removed it. Fork at another turn, or in place at the newest one.",
    details: { reason: "objects_gone", paths: paths.slice(0, 1000) },
  });
}
