import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { toBulkheadError } from "../../ground/errors/to-error-data.ts";
import { idForm } from "../../ground/config/plugin-ids.ts";
import { readdir, realpath, stat } from "../../ground/platform/files/files.ts";
import { join } from "../../ground/platform/files/paths.ts";
import type { FoundPlugin, ManifestLimits } from "../manifest/find-plugins.ts";
import { checkInstalled } from "../manifest/installed-files.ts";
import type { KnownManifests } from "../manifest/known-manifests.ts";
import { installedFolder, lockFileOf, lockName, readLockEntries, versionFolder } from "../manifest/plugin-lock.ts";
import type { LockedPlugin } from "../manifest/lock-format.ts";
import { manifestName, readManifest } from "../manifest/read-manifest.ts";

/**
 * Every plugin that the lock beside a host manifest names, each checked byte by byte. Never throws for what is in a
 * package or in the lock: an entry that cannot be read stops its plugin, and a lock that cannot be read all that are
 * installed.
 */
export async function findInstalled(
  manifestFile: string,
  { env, ...terms }: InstalledOptions & { env?: Readonly<Record<string, string | undefined>> | undefined },
): Promise<FoundPlugin[]> {
  const { plugins, broken, error } = await readLockEntries(manifestFile);
  const entries = Object.entries(plugins);
  if (error === null && entries.length === 0 && Object.keys(broken).length === 0) return [];
  const installed = await installedFolder(manifestFile, env);
  const unreadable = error === null ? Object.entries(broken) : await withoutLock(installed, error);
  return [
    ...await Promise.all(entries.map(([id, locked]) => readInstalled(installed, id, { ...terms, locked }))),
    ...unreadable.map(([id, why]) => stopped(id, why, lockFileOf(manifestFile))),
  ];
}

/** The lock itself, and every plugin that was ever installed beside it. */
async function withoutLock(installed: string, error: BulkheadError): Promise<[id: string, error: BulkheadError][]> {
  const names = await readdir(installed).catch(() => []);
  const there = await Promise.all(
    names.filter((name) => idForm.test(name)).map(async (name) =>
      await stat(join(installed, name)).then((found) => found.isDirectory(), () => false) ? [name] : []
    ),
  );
  return [lockName, ...there.flat()].map((id) => [id, error]);
}

function stopped(id: string, error: BulkheadError, folder: string): FoundPlugin {
  return { id, folder, origin: "installed", manifest: null, error };
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
