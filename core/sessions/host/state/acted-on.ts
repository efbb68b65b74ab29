import type { HostManifest } from "../../../ground/config/host-manifest.ts";
import type { ActedOnKind } from "../../../ground/recorded/acted-on-kinds.ts";
import { basename, isInside, resolve } from "../../../ground/platform/files/paths.ts";
import { isAuthored } from "../../../packages/registry/files-mark.ts";
import type { RegistryProblem } from "../../../packages/registry/registry.ts";
import type { Plugin } from "../../../packages/manifest/plugin.ts";
import { hostManifestName } from "../../../packages/manifest/find-host-manifest.ts";
import { lockFileOf, lockName } from "../../../packages/manifest/plugin-lock.ts";
import { noticePaths } from "../../../ground/config/notify-settings.ts";
import { secretSource } from "../../../walls/secrets/resolve-secrets.ts";

/** Something that this host, or the next one, acts on. */
interface ActedOnPlace {
  /** Absolute path; nothing may be there. */
  path: string;
  kind: ActedOnKind;
}

interface ActedOnOptions {
  /** Folder of the host manifest. */
  root: string;
  manifest: HostManifest | undefined;
  /** File of the stored secrets. */
  secretsFile: string;
  plugins: readonly Plugin[];
  /** Those that are enabled and cannot be used now: once they are mended, the host acts on them. */
  problems: readonly RegistryProblem[];
}

/** Returns all that this host acts on, and where the next one would find a host manifest. */
export function actedOnPlaces(
  folders: readonly string[],
  { root, manifest, secretsFile, plugins, problems }: ActedOnOptions,
): ActedOnPlace[] {
  const named = [root, ...folders].map((folder) => resolve(folder, hostManifestName));
  const manifests = [...new Set([...named, ...(manifest?.file === undefined ? [] : [resolve(manifest.file)])])];
  const references = manifest?.secrets ?? {};
  const sources = Object.keys(references).map((name) => secretSource(name, references));
  const secrets = [secretsFile, ...sources.flatMap((source) => source.from === "file" ? [source.path] : [])];
  return [
    ...manifests.map((path): ActedOnPlace => ({ path, kind: "manifest" })),
    ...manifests.map((path): ActedOnPlace => ({ path: lockFileOf(path), kind: "lock" })),
    ...manifests.map((path): ActedOnPlace => ({ path: resolve(path, "..", ".npmrc"), kind: "npm" })),
    ...secrets.map((path): ActedOnPlace => ({ path, kind: "secrets" })),
    ...noticePaths(manifest?.notify).map((path): ActedOnPlace => ({ path, kind: "program" })),
    ...plugins.filter((plugin) => plugin.enabled && isAuthored(plugin)).flatMap(({ folder, place = folder }) =>
      [place, folder].map((path): ActedOnPlace => ({ path, kind: "plugin" }))
    ),
    ...unavailableFolders(problems, root).map((path): ActedOnPlace => ({ path, kind: "plugin" })),
  ];
}

/** Folders of plugins that are enabled and cannot be used; one without a folder of its own has that of the host manifest. */
export function unavailableFolders(problems: readonly RegistryProblem[], root: string): string[] {
  return problems.filter(({ unavailable }) => unavailable)
    .flatMap(({ folder, place = folder }) => [place, folder])
    .filter((path) => !isInside(path, root) && basename(path) !== lockName);
}
