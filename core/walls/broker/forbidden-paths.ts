import { actedOnBelow } from "../../ground/platform/places/acted-on-names.ts";
import { foldName } from "../../ground/platform/files/fold-name.ts";
import { basename, isInside, relative } from "../../ground/platform/files/paths.ts";

/** Options of {@link forbiddenBecause}. */
interface ForbiddenOptions {
  access: "read" | "write";
  /** The narrowest root that holds the path, as the operator granted it, or as it would be granted. */
  root: string;
  /** Real absolute paths of the host's own files. */
  protectedPaths: readonly string[];
  /** Real absolute paths that are never written: the packages of plugins. */
  sealedPaths: readonly string[];
  /** The plugin's data folder: allowed although it is in a protected place. */
  dataDir: string;
  /** Top of the session's own worktree: allowed although it is in a protected place. */
  workspaceDir?: string | undefined;
  /** Real absolute paths of folders in which hosts look for plugins. */
  pluginPlaces?: readonly string[] | undefined;
  /** Names in addition to the built-in ones. */
  autoexecNames: readonly string[];
}

/** Reason why a path is denied. */
export interface Forbidden {
  /** Half a sentence. */
  because: string;
  /** Whether a grant that names the path allows it. */
  grantable: boolean;
}

/**
 * Reason why a real path is denied, or null. No grant allows pseudo file systems and the host's own state; for writing,
 * files that programs act on without being told need a grant that names them (a root that the operator spelled out
 * does).
 */
export function forbiddenBecause(path: string, options: ForbiddenOptions): Forbidden | null {
  const own = ownedBecause(path, options);
  if (own !== null) return { because: own, grantable: false };
  if (options.access === "read") return null;
  const acted = actedOnBecause(path, options);
  return acted === null ? null : { because: `${acted}, and the grant does not name it`, grantable: true };
}

function ownedBecause(path: string, options: ForbiddenOptions): string | null {
  const { access, dataDir, workspaceDir, protectedPaths, sealedPaths } = options;
  if (isPseudoFile(path)) return "it is in a pseudo file system";
  if (isKvFile(path, dataDir)) return "it is the key-value store's own file";
  const isProtected = protectedPaths.some((root) => isInside(root, path));
  const isOwn = isInside(dataDir, path) || (workspaceDir !== undefined && isInside(workspaceDir, path));
  if (isProtected && !isOwn) return "it belongs to the host";
  if (access === "write" && sealedPaths.some((root) => isInside(root, path))) return "it belongs to a plugin's package";
  return null;
}

function actedOnBecause(path: string, { root, pluginPlaces = [], autoexecNames }: ForbiddenOptions): string | null {
  const known = actedOnBelow(root, path);
  if (known !== null) return known;
  const extra = new Set(autoexecNames.map(foldName));
  const tools = relative(root, path).split(/[\\/]/).find((name) => extra.has(foldName(name)));
  if (tools !== undefined) return `programs act on "${tools}" by themselves`;
  const place = pluginPlaces.find((folder) => isInside(folder, path) && !isInside(folder, root));
  return place === undefined ? null : `the host looks for plugins in "${basename(place)}"`;
}

/** True for files in which the kernel describes itself, programs and devices: never a file of a person's work. */
export function isPseudoFile(path: string): boolean {
  return pseudoRoots.some((root) => isInside(root, path));
}

/** Path of a plugin's key-value store. */
export function kvFile(dataDir: string): string {
  return `${dataDir}/kv.json`;
}

function isKvFile(path: string, dataDir: string): boolean {
  return path === kvFile(dataDir);
}

const pseudoRoots = ["/proc", "/sys", "/dev"];
