import { lstat } from "../../ground/runtime/files.ts";
import { foldName } from "../../ground/runtime/fold-name.ts";
import { basename, dirname, isBelow, join } from "../../ground/runtime/paths.ts";
import { bareRepositoryAt } from "./bare-repository.ts";
import { type Forbidden, forbiddenBecause } from "./forbidden-paths.ts";
import type { SessionBrokerOptions } from "./session-broker.ts";

/** {@link forbiddenBecause} with what only the disk can tell: what lies beside the path. */
export async function forbiddenAt(
  path: string,
  { options, access, root }: { options: SessionBrokerOptions; access: "read" | "write"; root: string },
): Promise<Forbidden | null> {
  const { dataDir, workspaceDir, protectedPaths = [], sealedPaths = [], pluginPlaces, autoexecNames = [] } = options;
  const places = { dataDir, workspaceDir, protectedPaths, sealedPaths, pluginPlaces, autoexecNames };
  const found = forbiddenBecause(path, { access, root, ...places });
  if (found !== null || access === "read") return found;
  const repository = await bareRepositoryAt(path);
  if (repository !== null && !isBelow(repository, root)) {
    return {
      because: `git takes "${repository}" for a repository with it, and runs what its config names`,
      grantable: true,
    };
  }
  const plugins = await pluginFolderOf(path, root);
  return plugins === null ? null : { because: `hosts look for plugins in "${plugins}"`, grantable: true };
}

/** The folder `plugins` beside some host manifest that a path below a root stands in; null when there is none. */
async function pluginFolderOf(path: string, root: string): Promise<string | null> {
  for (let folder = path; isBelow(root, folder); folder = dirname(folder)) {
    if (foldName(basename(folder)) !== "plugins") continue;
    const manifest = join(dirname(folder), "bulkhead.yaml");
    if (await lstat(manifest).then(() => true, () => false)) return folder;
  }
  return null;
}
