import { readdir } from "../../../ground/runtime/files.ts";
import { basename, dirname, join } from "../../../ground/runtime/paths.ts";
import { refText, symbolicTarget } from "./read-refs.ts";

/** Branches that work trees of a repository have checked out, or are rebasing, with the git folder of each work tree. */
export async function checkedOut(commonDir: string): Promise<Map<string, string>> {
  const names = await readdir(join(commonDir, "worktrees")).catch(() => []);
  const folders = [commonDir, ...names.map((name) => join(commonDir, "worktrees", name))];
  const found = await Promise.all(folders.map(async (folder) => {
    const [head, merging, applying] = await Promise.all(
      ["HEAD", "rebase-merge/head-name", "rebase-apply/head-name"].map((file) => refText(join(folder, file))),
    );
    return [symbolicTarget(head!), merging!, applying!].map((name) => [name, folder] as const);
  }));
  return new Map(found.flat().filter((one): one is [string, string] => one[0] !== null && one[0] !== ""));
}

/** Top of a work tree, by its git folder; null where that does not say it. */
export async function topOf(gitDir: string, commonDir: string): Promise<string | null> {
  if (gitDir === commonDir) return basename(gitDir) === ".git" ? dirname(gitDir) : null;
  const entry = await refText(join(gitDir, "gitdir"));
  return entry === "" ? null : dirname(entry);
}
