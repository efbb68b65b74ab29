import { pluginPlaces } from "../../packages/manifest/find-plugins.ts";
import { lockFileOf } from "../../packages/manifest/plugin-lock.ts";
import { basename, dirname } from "../../ground/platform/files/paths.ts";
import type { Plugin } from "../../packages/manifest/plugin.ts";
import { everRequested } from "../../packages/permissions/requested-permissions.ts";

/** Places that no grant opens to an adapter, in addition to those built into the broker. */
export interface GuardedPlaces {
  /** Never read or written. Real absolute paths. */
  protectedPaths: string[];
  /** Never written. Real absolute paths. */
  sealedPaths: string[];
  /** Folders in which this host looks for plugins; written only where a grant names them. Absolute paths. */
  pluginPlaces: string[];
  /** Folders in which no session works. Real absolute paths. */
  closedFolders: string[];
  /** Names of files and folders that are never written. */
  autoexecNames: string[];
}

interface GuardedPlacesOptions {
  /** Folder of the host manifest. Real and absolute. */
  root: string;
  /** Folders of state: this host's, and the user's own. */
  stateDirs: readonly string[];
  /** The host manifest; null when there is none. */
  manifestFile: string | null;
  /** Folder of plugins installed beside the host manifest; null when there is no host manifest. */
  installedDir: string | null;
  /** Paths of files and folders that hold secrets. */
  secretPaths: readonly string[];
  plugins: readonly Plugin[];
  /** Folders of plugins that are enabled and cannot be used now. */
  unavailable: readonly string[];
}

/**
 * Returns the host's own places: its state, its manifest with the lock and its secrets are closed; the packages of
 * plugins are sealed. A tool named `x` reads settings, and commands to run, from a folder `.x` in any working
 * directory, so adapters never write those folders.
 */
export function guardedPlaces(options: GuardedPlacesOptions): GuardedPlaces {
  const { root, stateDirs, manifestFile, installedDir, secretPaths, plugins, unavailable } = options;
  const own = [...new Set(stateDirs)];
  const packages = plugins.filter(({ origin, folder }) => origin !== "inline" && dirname(folder) !== folder);
  return {
    protectedPaths: [...own, ...manifestFiles(manifestFile), ...secretPaths],
    sealedPaths: [
      ...packages.map(({ folder }) => folder),
      ...unavailable,
      ...(installedDir === null ? [] : [installedDir]),
    ],
    pluginPlaces: pluginPlaces(root),
    closedFolders: [...own, ...secretPaths, ...(installedDir === null ? [] : [installedDir])],
    autoexecNames: [...new Set(plugins.flatMap(toolsOf))].map((name) => `.${name}`),
  };
}

function manifestFiles(manifestFile: string | null): string[] {
  return manifestFile === null ? [] : [manifestFile, lockFileOf(manifestFile)];
}

/** By manifest, which never changes: every session asks for them. */
const knownTools = new WeakMap<Plugin["manifest"], string[]>();

function toolsOf({ manifest }: Plugin): string[] {
  const known = knownTools.get(manifest) ?? findTools(manifest);
  knownTools.set(manifest, known);
  return known;
}

function findTools(manifest: Plugin["manifest"]): string[] {
  const { run = [], read = [], write = [] } = everRequested(manifest);
  const programs = run.map(({ binary }) => basename(binary).replace(/\.\w+$/, ""));
  const settings = [...read, ...write].filter((root) => root.startsWith("config:")).map((root) => root.slice(7));
  return [...programs, ...settings].filter((name) => /^[a-z0-9][\w-]*$/i.test(name));
}
