import { lstat } from "../../ground/platform/files/files.ts";
import { foldName } from "../../ground/platform/files/fold-name.ts";
import { basename, dirname, join } from "../../ground/platform/files/paths.ts";

/**
 * Folder that a write to a real path would turn, or has turned, into a repository without `.git`; null when there is
 * none. To git, every folder is one that holds `HEAD` beside `objects` and `refs`, or beside a `commondir` that locates
 * those, and git runs the programs that its `config` names. A file called `HEAD` counts as the last piece even where
 * others are missing, since two writes at once could each find the other's piece missing.
 */
export async function bareRepositoryAt(path: string): Promise<string | null> {
  let child = basename(path);
  if (foldName(child) === "head") return dirname(path);
  for (let folder = dirname(path);; folder = dirname(folder)) {
    if (await isRepository(folder, foldName(child))) return folder;
    if (dirname(folder) === folder) return null;
    child = basename(folder);
  }
}

/** Whether a folder is a repository once it has this child. */
async function isRepository(folder: string, child: string): Promise<boolean> {
  const has = async (name: string) =>
    child === foldName(name) || await lstat(join(folder, name)).then(() => true, () => false);
  if (!(await has("HEAD"))) return false;
  return await has("commondir") || await has("objects") && await has("refs");
}
