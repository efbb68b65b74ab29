import type { HostManifest } from "../../ground/config/host-manifest.ts";
import { defaultLimits } from "../../ground/config/limits.ts";
import { stateFolderOf } from "../../sessions/host/state/state-folder.ts";
import { type FetchedPackage, fetchPackage, type FetchPackageOptions } from "../../packages/install/fetch-package.ts";
import type { PackageLimits } from "../../packages/install/package-files.ts";
import type { PackageSpec } from "../../packages/install/package-spec.ts";
import type { PreparedInstall } from "../../packages/install/prepare-install.ts";
import { forgetPlugin } from "../../packages/install/remove-plugin.ts";
import type { Allowances } from "../../packages/install/source-policy.ts";
import type { NewGrant } from "../../packages/manifest/edit-host-manifest.ts";
import { hostManifestName } from "../../packages/manifest/find-host-manifest.ts";
import { dirname, join, resolve } from "../../ground/platform/files/paths.ts";
import type { Invocation } from "./command.ts";
import { grantWord } from "../../packages/install/asked-permissions.ts";
import { writeStarter } from "./commands/init.ts";
import { type FileManifest, fileManifest, manifestFile } from "./open-host.ts";
import { pinGranted } from "./pin-granted.ts";
import { whileWaiting } from "./while-waiting.ts";

/**
 * The host manifest for a command that adds something: where there is none it writes a starter here, and says so.
 * @throws {BulkheadError} `invalid_config`, `io_error`
 */
export async function manifestToAddTo(call: Invocation): Promise<FileManifest> {
  if (await manifestFile(call) === undefined) {
    const file = join(call.terminal.cwd, hostManifestName);
    await writeStarter(file);
    await call.terminal.stderr.write(`There was no bulkhead.yaml: wrote ${file}.\n`);
  }
  return await fileManifest(call);
}

/** Reads from the command's flags what the operator allows beyond the rules. */
export function allowances({ options }: Invocation): Allowances {
  return {
    downgrade: options["allowDowngrade"] === true,
    replaceSource: options["replaceSource"] === true,
    similarId: options["allowSimilarId"] === true,
  };
}

/** Returns the limits of packages from the host manifest. */
export function packageLimits({ limits }: HostManifest): PackageLimits {
  return { ...defaultLimits, ...limits };
}

/** Fetches a package and shows a progress line meanwhile. */
export function fetchWhileWaiting(
  call: Invocation,
  { spec, named, ...options }: FetchPackageOptions & { spec: PackageSpec; named: string },
): Promise<FetchedPackage> {
  return whileWaiting(`Fetching ${named} …`, { terminal: call.terminal, work: fetchPackage(spec, options) });
}

/** Installs a prepared package with its programs pinned; if the source changed, removes what the old one had stored. */
export async function commitInstall(
  call: Invocation,
  install: PreparedInstall,
  { grants, manifest }: { grants: readonly NewGrant[]; manifest: FileManifest },
): Promise<void> {
  const { granted, emptied } = await install.commit(grants);
  for (const id of emptied) await forgetPlugin(stateFolder(call, manifest), id);
  for (const { pluginId, permission, target } of granted) {
    if (permission === "run") await pinGranted(call, { pluginId, binary: target });
  }
}

/** Builds the report of an installation, for programs. */
export function installReport(
  { id, next, current, unchanged }: Pick<PreparedInstall, "id" | "next" | "current" | "unchanged">,
  { grants, manifest }: { grants: readonly NewGrant[]; manifest: FileManifest },
): Record<string, unknown> {
  const { source, version, integrity, files, signed_by, provenance } = next;
  return {
    plugin_id: id,
    version,
    version_before: current?.version ?? null,
    changed: !unchanged || grants.length > 0,
    granted: grants.map(grantWord),
    source,
    integrity,
    files,
    signed_by,
    provenance,
    file: manifest.file,
  };
}

/** Returns the host's state folder. */
export function stateFolder(call: Invocation, manifest: FileManifest): string {
  const stateDir = call.stateDir === undefined ? {} : { stateDir: resolve(call.terminal.cwd, call.stateDir) };
  return stateFolderOf({ ...stateDir, manifest }, dirname(manifest.file));
}
