import type { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { HostManifest } from "../../ground/config/host-manifest.ts";
import { toBulkheadError } from "../../ground/errors/to-error-data.ts";
import { blockedError, blockOf } from "../registry/blocked-plugins.ts";
import { checkInstalled } from "../manifest/installed-files.ts";
import { installedFolder, readLock, versionFolder } from "../manifest/plugin-lock.ts";
import type { LockedPlugin } from "../manifest/lock-format.ts";
import { resolve } from "../../ground/platform/files/paths.ts";
import { fetchPackage, lockedSpec } from "./fetch-package.ts";
import { changeManifest } from "./manifest-transaction.ts";
import { packageError, type PackageLimits } from "./package-files.ts";
import { stagePackage, sweepStaging } from "./staging.ts";

/** One plugin of the lock, and whether it had to be installed. */
interface Restored {
  id: string;
  version: string;
  restored: boolean;
  /** Why it could not be installed; null: it is there. */
  error: BulkheadError | null;
}

/**
 * Installs what a lock names and is not there, or not as it was: those files and no others. One that cannot be installed,
 * as where its registry is down, keeps no other one from it.
 * @throws {BulkheadError} `invalid_config`, `io_error` for the lock
 */
export async function restoreInstalled(
  hostManifest: HostManifest & { file: string },
  limits: PackageLimits,
): Promise<Restored[]> {
  const manifestFile = resolve(hostManifest.file);
  const { plugins } = await readLock(manifestFile);
  const installed = await installedFolder(manifestFile);
  const all: Restored[] = [];
  for (const [id, locked] of Object.entries(plugins)) {
    const { version } = locked;
    try {
      const restored = await restoreMissing(id, locked, { hostManifest, manifestFile, limits, installed });
      all.push({ id, version, restored, error: null });
    } catch (thrown) {
      all.push({ id, version, restored: false, error: toBulkheadError(thrown) });
    }
  }
  return all;
}

interface RestoreOptions {
  manifestFile: string;
  limits: PackageLimits;
  installed: string;
}

/**
 * Returns false where it is there already.
 * @throws {BulkheadError} `invalid_package` when its source has other files by now, `blocked_plugin`; as
 * {@link fetchPackage}
 */
async function restoreMissing(
  id: string,
  locked: LockedPlugin,
  { hostManifest, ...options }: RestoreOptions & { hostManifest: HostManifest },
): Promise<boolean> {
  const packageName = locked.source.type === "registry" ? locked.source.name : null;
  const why = blockOf(hostManifest, { id, packageId: id, version: locked.version, packageName });
  if (why !== null) throw blockedError(id, why);
  const folder = versionFolder(options.installed, id, locked);
  if (await checkInstalled(folder, id, locked).then(() => true, () => false)) return false;
  await restore(id, locked, options);
  return true;
}

async function restore(
  id: string,
  locked: LockedPlugin,
  { manifestFile, limits, installed }: RestoreOptions,
): Promise<void> {
  const spec = lockedSpec(locked, { manifestFile, newest: false });
  const fetched = await fetchPackage(spec, { manifestFile, limits, locked: { entry: locked, exact: true } });
  const staged = await stagePackage(fetched, installed);
  try {
    if (staged.manifest.id !== id || staged.files !== locked.files) {
      throw packageError(fetched.name, `it has not the files that are locked for "${id}" ${locked.version}`);
    }
    await changeManifest(manifestFile, async (state) => {
      await sweepStaging(state.installed);
      await staged.moveTo(versionFolder(state.installed, id, locked));
    });
  } finally {
    await staged.discard();
  }
}
