import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { toBulkheadError } from "../../ground/errors/to-error-data.ts";
import { realpath } from "../../ground/runtime/files.ts";
import type { FoundPlugin, ManifestLimits } from "./find-plugins.ts";
import { checkInstalled } from "./installed-files.ts";
import type { KnownManifests } from "./known-manifests.ts";
import { installedFolder, readLock, versionFolder } from "./plugin-lock.ts";
import type { LockedPlugin } from "./lock-format.ts";
import { manifestName, readManifest } from "./read-manifest.ts";

/**
 * Every plugin that the lock beside a host manifest names, each checked byte by byte. Never throws for what is in a
 * package.
 * @throws {BulkheadError} `invalid_config` for a lock that cannot be read
 */
export async function findInstalled(
  manifestFile: string,
  { env, ...terms }: InstalledOptions & { env?: Readonly<Record<string, string | undefined>> | undefined },
): Promise<FoundPlugin[]> {
  const { plugins } = await readLock(manifestFile);
  const entries = Object.entries(plugins);
  if (entries.length === 0) return [];
  const installed = await installedFolder(manifestFile, env);
  return await Promise.all(entries.map(([id, locked]) => readInstalled(installed, id, { ...terms, locked })));
}

interface InstalledOptions {
  limits: ManifestLimits;
  known?: KnownManifests | undefined;
}

async function readInstalled(
  installed: string,
  id: string,
  { locked, limits, known }: InstalledOptions & { locked: LockedPlugin },
): Promise<FoundPlugin> {
  const path = versionFolder(installed, id, locked);
  const folder = await realpath(path).catch(() => path);
  const found = { id, folder, origin: "installed" as const };
  try {
    const hashes = await checkInstalled(folder, id, locked);
    const manifest = await readManifest(folder, { limits, known, sha256: hashes[manifestName] ?? "none" });
    if (manifest.id !== id || manifest.version !== locked.version) {
      throw new BulkheadError(
        "invalid_package",
        `Cannot load plugin "${id}": its manifest is that of ${manifest.id} ${manifest.version}.`,
      );
    }
    return { ...found, manifest, error: null, hashes };
  } catch (thrown) {
    return { ...found, manifest: null, error: toBulkheadError(thrown) };
  }
}
