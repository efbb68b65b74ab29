import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import type { PermissionCall } from "../../packages/permissions/decide.ts";
import { locate } from "../../ground/platform/files/contain-path.ts";
import { access, realpath } from "../../ground/platform/files/files.ts";
import { dirname, isAbsolute, isBelow, isInside, join, relative, sep } from "../../ground/platform/files/paths.ts";
import { hostEnv } from "../../ground/platform/engine/platform.ts";
import { type GrantedPlaces, ownTools } from "../agent/agent-view.ts";
import { hiddenAtHome, homesToHide } from "../agent/hidden-places.ts";
import { toolPlaces } from "../agent/tool-places.ts";
import { searchPath } from "./child-env.ts";
import { isPseudoFile } from "./forbidden-paths.ts";
import type { SessionBrokerOptions } from "./session-broker.ts";

/** Prefix of a path in the working directory, in grants: `workdir:package.json`. */
const insideWorkdir = "workdir:";

/** A granted root, as written and as a real path. */
export interface GrantedRoot {
  grant: string;
  path: string;
}

/** Real paths of the roots in a `read` or `write` list. A word that names no root allows nothing. */
export async function grantedRoots(list: Permissions["read"], options: SessionBrokerOptions): Promise<GrantedRoot[]> {
  const roots = (list ?? []).flatMap((grant) => placesOf(grant, options).map((path) => ({ grant, path })));
  const real = await Promise.all(
    roots.map(async ({ grant, path }) => ({ grant, path: await realpath(path).catch(() => path), named: path })),
  );
  // A link that an agent made in the working directory must not redirect the operator's grant.
  return real.filter(({ grant, path, named }) => !grant.startsWith(insideWorkdir) || path === named);
}

/** Resolves the roots of a session's lists, for the decision about a file. */
export async function placesOfRoots(
  kind: "read" | "write",
  options: SessionBrokerOptions,
): Promise<Extract<PermissionCall, { kind: "read" | "write" }>["placesOf"]> {
  const { allowing, denying } = options.rights.roots(kind);
  const [granted, ...denied] = await Promise.all([
    grantedRoots([...allowing], options),
    ...denying.flatMap((root) => placesOf(root, options).map((path) => ({ root, path }))).map(
      async ({ root, path }) => ({ root, paths: [path, (await locate(path, { followLast: true })).path] }),
    ),
  ]);
  // A denial counts where it is named and where its links lead, an agent's links too.
  return (root, list) =>
    list === "denying"
      ? denied.flatMap((one) => (one.root === root ? one.paths : []))
      : granted.flatMap(({ grant, path }) => (grant === root ? [path] : []));
}

/** Finds the roots below which a session may write something. */
export async function writableRoots(options: SessionBrokerOptions): Promise<string[]> {
  const placesOf = await placesOfRoots("write", options);
  const places = options.rights.roots("write").allowing.flatMap((root) => placesOf(root, "allowing"));
  return places.filter((path) => options.rights.decide({ kind: "write", path, placesOf, isNamed: true }).allowed);
}

/**
 * Finds what the grants of a session show to its agents besides its own folders.
 * @param onHidden called with a granted path that no agent may see
 */
export async function grantedPlaces(
  options: SessionBrokerOptions,
  onHidden: (grant: string) => void = () => {},
): Promise<GrantedPlaces> {
  const { permissions, spelledRoots = [] } = options;
  const [opened, readByPrograms] = await Promise.all([
    grantedRoots(spelledRoots.filter((root) => root.includes(":")), options),
    programReads(options, onHidden),
  ]);
  // As they are named: what makes the view decides about links on the way.
  const named = (list: Permissions["read"]) => (list ?? []).filter(isAbsolute);
  return {
    opened: opened.map(({ path }) => path),
    written: named(permissions.write),
    read: [...named(permissions.read), ...readByPrograms],
  };
}

/**
 * Paths that the operator lets contained programs read, by a grant or with an MCP server, without those that are hidden,
 * or that hold what is.
 */
async function programReads(options: SessionBrokerOptions, onHidden: (grant: string) => void): Promise<string[]> {
  const { programRead = [], protectedPaths = [], workdir, workspaceDir = workdir } = options;
  const wanted = [...programRead, ...await mcpServerPlaces(options)];
  if (wanted.length === 0) return [];
  const { all } = await homesToHide();
  const [roots, ...hidden] = await Promise.all([
    grantedRoots(wanted, options),
    ...[...protectedPaths, ...await hiddenAtHome(all, ownTools(options))].map((place) =>
      realpath(place).then((real): string[] => [place, real], () => [place])
    ),
  ]);
  const places = hidden.flat();
  const tools = all.flatMap((home) => toolPlaces.map((place) => join(home, place)));
  return roots.flatMap(({ grant, path }) => {
    const isHidden = isPseudoFile(path) || places.some((place) => isInside(place, path) || isInside(path, place));
    // A link in the project is the agent's.
    const isLed = path !== grant && [workdir, workspaceDir].some((folder) => isInside(folder, grant));
    if (isHidden || isLed) onHidden(grant);
    if (isHidden || isLed) return [];
    // A link in a folder that is shown stands there already; what makes the view decides about every other one.
    return [...tools, ...searchPath(workdir)].some((folder) => isInside(folder, grant)) ? [path] : [grant];
  });
}

/** The grant word for exactly this path. */
export function wordFor(path: string, { workdir }: SessionBrokerOptions): string {
  if (!isBelow(workdir, path)) return path;
  return `${insideWorkdir}${relative(workdir, path).split(sep).join("/")}`;
}

/** The narrowest grant word that allows a path. */
export function rootFor(path: string, options: SessionBrokerOptions): string {
  if (isInside(options.workdir, path)) return "workdir";
  if (isInside(options.dataDir, path)) return "data";
  if (isInside(options.pluginDir, path)) return "plugin";
  return path;
}

/** The root of `rootFor` as a path. */
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

/** Settings folders of a tool: `~/.tool` and the XDG folder. */
function configFolders(tool: string): string[] {
  const home = hostEnv("HOME");
  if (home === undefined || !/^[a-z0-9][\w-]*(\.[\w-]+)*$/i.test(tool)) return [];
  return [join(home, `.${tool}`), join(hostEnv("XDG_CONFIG_HOME") ?? join(home, ".config"), tool)];
}

/** Files that lie at the top of a package: its program loads what lies beside them. */
const packageFiles = ["package.json", "deno.json", "pyproject.toml", "pyvenv.cfg", "Cargo.toml", "go.mod"];

/**
 * Places below the home that the command lines of a session's MCP servers name, for the agent that starts them: each
 * file with the package that it belongs to.
 */
async function mcpServerPlaces({ mcpConfig, permissions }: SessionBrokerOptions): Promise<string[]> {
  const named = hostEnv("HOME");
  if (!mcpConfig || (permissions.mcp_servers ?? []).length === 0 || !named || !isAbsolute(named)) return [];
  const home = await realpath(named).catch(() => named);
  // The host wrote this text itself.
  const { mcpServers } = JSON.parse(mcpConfig) as {
    mcpServers: Record<string, { command?: string; args?: string[] }>;
  };
  const words = Object.values(mcpServers).flatMap(({ command, args = [] }) =>
    command === undefined ? [] : [command, ...args]
  );
  const paths = words.map((word) => word.replace(/^-[^=]*=/, "")).filter(isAbsolute);
  const found = [...new Set(paths)].map(async (path) => {
    const real = await realpath(path).catch(() => null);
    if (real === null || ![named, home].some((top) => isBelow(top, path) || isBelow(top, real))) return [];
    return [path, await packageAround(real, home) ?? real];
  });
  return [...new Set((await Promise.all(found)).flat())];
}

/** The folder of the package that a file belongs to, below the home; null for a file of none. */
async function packageAround(file: string, home: string): Promise<string | null> {
  for (let folder = dirname(file); isBelow(home, folder); folder = dirname(folder)) {
    const there = await Promise.all(
      packageFiles.map((name) => access(join(folder, name)).then(() => true, () => false)),
    );
    if (there.includes(true)) return folder;
  }
  return null;
}
