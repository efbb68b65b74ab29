import { readdir } from "../../../ground/runtime/files.ts";
import { join } from "../../../ground/runtime/paths.ts";
import { refText, symbolicTarget } from "./read-refs.ts";

/**
 * Branches that work trees of a repository have checked out, or are rebasing, but for one of them.
 * @param except its git folder
 */
export async function checkedOut(commonDir: string, except: string): Promise<Set<string>> {
  const names = await readdir(join(commonDir, "worktrees")).catch(() => []);
  const folders = [commonDir, ...names.map((name) => join(commonDir, "worktrees", name))].filter((one) =>
    one !== except
  );
  const found = await Promise.all(folders.map(async (folder) => {
    const [head, merging, applying] = await Promise.all(
      ["HEAD", "rebase-merge/head-name", "rebase-apply/head-name"].map((file) => refText(join(folder, file))),
    );
    return [symbolicTarget(head!), merging!, applying!];
  }));
  return new Set(found.flat().filter((name): name is string => name !== null && name !== ""));
}
