import { isCovered, marksOf } from "../../../core/ground/platform/processes/process-mark.ts";
import { killTrees, type TreeRoot } from "../../../core/ground/platform/processes/process-tree.ts";

/** One tree, its mark, and the time from SIGTERM to SIGKILL. */
interface KillTreeOptions extends TreeRoot {
  mark: string;
  graceMs: number;
}

/** Ends one program with everything it started. */
export function killTree({ mark, graceMs, ...root }: KillTreeOptions): Promise<void> {
  return killTrees({ roots: [root], mark, graceMs });
}

/** Whether a living process was started with a mark, or with one that it covers. */
export function hasMark(pid: number, mark: string): boolean {
  return marksOf(pid).some((one) => isCovered(one, mark));
}
