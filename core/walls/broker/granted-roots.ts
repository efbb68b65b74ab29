import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import { realpath } from "../../ground/runtime/files.ts";
import { isAbsolute, isBelow, isInside, join, relative, sep } from "../../ground/runtime/paths.ts";
import { hostEnv } from "../../ground/runtime/platform.ts";
import type { SessionBrokerOptions } from "./session-broker.ts";

/** What stands before a path in the working directory, as grants name it: `workdir:package.json`. */
const insideWorkdir = "workdir:";

/** A granted root, as it is written and where it is. */
export interface GrantedRoot {
  grant: string;
  path: string;
}

/** Where the roots of a `read` or `write` list are. A word that names no root opens nothing. */
export async function grantedRoots(list: Permissions["read"], options: SessionBrokerOptions): Promise<GrantedRoot[]> {
  const roots = (list ?? []).flatMap((grant) => placesOf(grant, options).map((path) => ({ grant, path })));
  const real = await Promise.all(
    roots.map(async ({ grant, path }) => ({ grant, path: await realpath(path).catch(() => path), named: path })),
  );
  // A link that an agent laid in the working directory must not decide what the operator's word for it opens.
  return real.filter(({ grant, path, named }) => !grant.startsWith(insideWorkdir) || path === named);
}

/** The words that grant just this path. */
export function wordFor(path: string, { workdir }: SessionBrokerOptions): string {
  if (!isBelow(workdir, path)) return path;
  return `${insideWorkdir}${relative(workdir, path).split(sep).join("/")}`;
}

/** What would have to be granted to open a path: the narrowest word there is for it. */
export function rootFor(path: string, options: SessionBrokerOptions): string {
  if (isInside(options.workdir, path)) return "workdir";
  if (isInside(options.dataDir, path)) return "data";
  if (isInside(options.pluginDir, path)) return "plugin";
  return path;
}

/** The root that `rootFor` names, as a path. */
export function rootPathFor(path: string, options: SessionBrokerOptions): string {
  return placesOf(rootFor(path, options), options)[0] ?? path;
}

function placesOf(grant: string, { workdir, pluginDir, dataDir }: SessionBrokerOptions): string[] {
  if (grant === "workdir") return [workdir];
  if (grant.startsWith(insideWorkdir)) return placeInside(workdir, grant.slice(insideWorkdir.length));
  if (grant === "plugin") return [pluginDir];
  if (grant === "data") return [dataDir];
  if (grant.startsWith("config:")) return configFolders(grant.slice("config:".length));
  return isAbsolute(grant) ? [grant] : [];
}

function placeInside(workdir: string, below: string): string[] {
  const path = join(workdir, below);
  return isBelow(workdir, path) ? [path] : [];
}

/** Where a tool of that name keeps its settings: `~/.tool` and the XDG folder. */
function configFolders(tool: string): string[] {
  const home = hostEnv("HOME");
  if (home === undefined || !/^[a-z0-9][\w-]*(\.[\w-]+)*$/i.test(tool)) return [];
  return [join(home, `.${tool}`), join(hostEnv("XDG_CONFIG_HOME") ?? join(home, ".config"), tool)];
}
