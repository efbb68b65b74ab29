import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Cluster } from "../../cluster/machines/cluster.ts";
import type { HostManifest } from "../../ground/config/host-manifest.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import { sha256Hex } from "../../ground/platform/files/hash.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { stateFolders } from "../../ground/platform/state/state-folders.ts";
import { secretPlaces } from "../../sessions/host/session-secrets.ts";
import { resolveSecrets } from "../../walls/secrets/resolve-secrets.ts";

/**
 * Joins the cluster that the host manifest names; a daemon that is alone loads nothing of it.
 * @throws {BulkheadError} `unavailable`, `unauthorized`, `invalid_config`
 */
export async function joinCluster(
  manifest: HostManifest | undefined,
  { stateDir, writeLog }: { stateDir: string; writeLog(record: LogRecord): void },
): Promise<Cluster | null> {
  const settings = manifest?.cluster;
  if (settings === undefined) return null;
  const { Cluster } = await import("../../cluster/machines/cluster.ts");
  const repositoriesDir = join(stateFolders().cache, "repositories", sha256Hex(stateDir).slice(0, 16));
  return await Cluster.join({
    settings,
    stateDir,
    repositoriesDir,
    writeLog,
    secretOf: (name) => secretOf(manifest, name),
  });
}

/** Tries the servers that the host manifest names; returns why they cannot be used, or null. */
export async function clusterProblem(manifest: HostManifest | undefined): Promise<string | null> {
  const settings = manifest?.cluster;
  if (settings === undefined) return null;
  const { connectServers } = await import("../../cluster/engine/connect.ts");
  try {
    await (await connectServers(settings, (name) => secretOf(manifest, name))).close();
    return null;
  } catch (error) {
    const { message, hint } = toErrorData(error);
    return hint === undefined ? message : `${message} ${hint}`;
  }
}

async function secretOf(manifest: HostManifest | undefined, name: string): Promise<string> {
  const value = (await resolveSecrets([name], secretPlaces(manifest, undefined))).get(name);
  if (value !== undefined) return value;
  throw new BulkheadError("invalid_config", `Cannot join the cluster: there is no secret "${name}".`, {
    hint: `Store it with: bulkhead secret set ${name}.`,
  });
}
