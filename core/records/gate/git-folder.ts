import { foldName } from "../../ground/platform/files/fold-name.ts";

/** Files that git's everyday commands write in its folder, and that name no program. */
const files = new Set([
  "auto_merge",
  "cherry_pick_head",
  "commit_editmsg",
  "edit_description",
  "fetch_head",
  "fsmonitor--daemon.ipc",
  "gc.log",
  "gc.pid",
  "head",
  "index",
  "merge_autostash",
  "merge_head",
  "merge_mode",
  "merge_msg",
  "merge_rr",
  "notes_editmsg",
  "orig_head",
  "packed-refs",
  "rebase_head",
  "revert_head",
  "shallow",
  "squash_msg",
  "tag_editmsg",
]);
const fileFamilies = /^(bisect_[a-z_]+|sharedindex\.[0-9a-f]+|.+\.lock)$/;

/** Folders of it that hold data alone. */
const folders = new Set(["fsmonitor--daemon", "lfs", "logs", "objects", "refs", "rr-cache"]);

/** Files of a registration in `worktrees/`; its `commondir` must lead back. */
const ofWorktree = new Set(["gitdir", "locked"]);

/** Files of `info` that list objects and paths. */
const ofInfo = new Set(["refs", "sparse-checkout"]);

/** Files with the steps of a rebase or a row of picks, in folders that are there until it ends. */
const steps = new Set(["git-rebase-todo", "git-rebase-todo.backup", "done", "todo"]);

/** A step that runs a program. */
const execStep = /^\s*(?:exec|x)\s/m;

/** Fate of an entry of a git folder that was there before a session. */
export type GitPart =
  | "ignored"
  | "held"
  | "folder"
  | "modules"
  | "worktrees"
  | "info"
  | "rebase"
  | "steps"
  | "way_back";

/** Says so for one entry: whatever is not known as data is held where it changed. */
export function partOfGit(name: string, { type, within }: { type: string; within: PlaceInGit }): GitPart {
  const folded = foldName(name);
  if (within === "rebase" && type === "file") return steps.has(folded) ? "steps" : "ignored";
  if (within === "info" && type === "file" && ofInfo.has(folded)) return "ignored";
  if (type === "folder") {
    if (within === "rebase") return "rebase";
    if (folders.has(folded)) return "ignored";
    if (folded === "modules" || folded === "worktrees" || folded === "info") return folded;
    return /^(rebase-merge|rebase-apply|sequencer)$/.test(folded) ? "rebase" : "folder";
  }
  if (within === "worktree" && type === "file") {
    if (folded === "commondir") return "way_back";
    if (ofWorktree.has(folded)) return "ignored";
  }
  const isIpc = type === "other" && folded === "fsmonitor--daemon.ipc";
  return isIpc || (type === "file" && (files.has(folded) || fileFamilies.test(folded))) ? "ignored" : "held";
}

/** Kind of a place in a git folder. */
export type PlaceInGit = "git" | "worktree" | "info" | "rebase";

/** Whether the steps of a rebase run a program. */
export function runsPrograms(text: string): boolean {
  return execStep.test(text);
}

/** Whether the text of a worktree's `commondir` leads to the repository that the registration lies in. */
export function leadsBack(text: string): boolean {
  return text.trim() === "../..";
}
