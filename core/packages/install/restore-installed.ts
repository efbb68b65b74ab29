import type { HostManifest } from "../../ground/config/host-manifest.ts";
import { blockedError, blockOf } from "../registry/blocked-plugins.ts";
import { checkInstalled } from "../registry/installed-files.ts";
import { installedFolder, readLock, versionFolder } from "../registry/plugin-lock.ts";
import type { LockedPlugin } from "../registry/lock-format.ts";
import { resolve } from "../../ground/runtime/paths.ts";
import { fetchPackage, lockedSpec } from "./fetch-package.ts";
import { changeManifest } from "./manifest-transaction.ts";
import { packageError, type PackageLimits } from "./package-files.ts";
import { stagePackage, sweepStaging } from "./staging.ts";

/** One plugin of the lock, and whether it had to be installed. */
interface Restored {
  id: string;
  version: string;
  restored: boolean;
}

/**
 * Installs what a lock names and is not there, or not as it was: those files and no others.
 * @throws {BulkheadError} `invalid_package` when its source has other files by now, `blocked_plugin`; as
 * {@link fetchPackage}
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
    const packageName = locked.source.type === "registry" ? locked.source.name : null;
    const why = blockOf(hostManifest, { id, packageId: id, version: locked.version, packageName });
    if (why !== null) throw blockedError(id, why);
    const whole = await checkInstalled(versionFolder(installed, id, locked), id, locked).then(() => true, () => false);
    if (!whole) await restore(id, locked, { manifestFile, limits, installed });
    all.push({ id, version: locked.version, restored: !whole });
  }
  return all;
}

async function restore(
  id: string,
  locked: LockedPlugin,
  { manifestFile, limits, installed }: { manifestFile: string; limits: PackageLimits; installed: string },
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
