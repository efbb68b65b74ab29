import { basename, dirname } from "../runtime/paths.ts";
import type { Plugin } from "../registry/plugin.ts";
import { requestedPermissions } from "../registry/requested-permissions.ts";

/** What no grant opens to an adapter, beside what is built into the broker. */
export interface GuardedPlaces {
  /** Neither read nor written. Real absolute paths. */
  protectedPaths: string[];
  /** Never written. Real absolute paths. */
  sealedPaths: string[];
  /** Names of files and folders that are never written. */
  autoexecNames: string[];
}

/** What {@link guardedPlaces} looks at. */
export interface GuardedOptions {
  /** Folder of all state. */
  stateDir: string;
  /** The host manifest; null when there is none. */
  manifestFile: string | null;
  /** Where secrets are. */
  secretPaths: readonly string[];
  plugins: readonly Plugin[];
}

/**
 * The host's own places: its state, its host manifest and its secrets are closed, the packages of plugins are sealed. A tool named
 * `x` takes settings, and with them commands to run, from a folder `.x` wherever it works, so those are never written.
 */
export function guardedPlaces({ stateDir, manifestFile, secretPaths, plugins }: GuardedOptions): GuardedPlaces {
  const packages = plugins.filter(({ origin, folder }) => origin !== "inline" && dirname(folder) !== folder);
  return {
    protectedPaths: [stateDir, ...(manifestFile === null ? [] : [manifestFile]), ...secretPaths],
    sealedPaths: packages.map(({ folder }) => folder),
    autoexecNames: [...new Set(plugins.flatMap(toolsOf))].map((name) => `.${name}`),
  };
}

function toolsOf({ manifest }: Plugin): string[] {
  const { run = [], read = [], write = [] } = requestedPermissions(manifest);
  const programs = run.map(({ binary }) => basename(binary).replace(/\.\w+$/, ""));
  const settings = [...read, ...write].filter((root) => root.startsWith("config:")).map((root) => root.slice(7));
  return [...programs, ...settings].filter((name) => /^[a-z0-9][\w-]*$/i.test(name));
}
