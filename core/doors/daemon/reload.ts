import type { DaemonSettings } from "../../ground/config/daemon-settings.ts";
import type { HostManifest } from "../../ground/config/host-manifest.ts";
import type { Host } from "../../sessions/host/host.ts";
import type { ReloadChanges } from "../http/door-options.ts";

/** Settings of `daemon:` that are read only when the daemon starts. */
const atStart = [
  "port",
  "addresses",
  "drain_ms",
  "log_file_bytes",
  "log_files",
] as const satisfies (keyof DaemonSettings)[];

/**
 * Puts the current host manifest into force.
 * @param options.started the manifest that the daemon was started with, even after other reloads
 * @throws {BulkheadError} the error of the manifest; then the old one stays in force
 */
export async function reloadManifest(
  host: Pick<Host, "reload">,
  { started, after }: { started: HostManifest | undefined; after: HostManifest },
): Promise<ReloadChanges> {
  const changes = await host.reload(after);
  const [before, now] = [readAtStart(started), readAtStart(after)];
  const names = [...new Set([...before.keys(), ...now.keys()])];
  return { ...changes, restart_needed: names.filter((name) => before.get(name) !== now.get(name)) };
}

/** Returns the settings that only a start reads, by their path, where a manifest has them. */
function readAtStart(
  { state_dir, daemon, cluster, limits = {}, journal = {} }: Partial<HostManifest> = {},
): Map<string, unknown> {
  const doors = Object.entries(limits).filter(([name]) => name.startsWith("http_"));
  return new Map<string, unknown>([
    ["state_dir", state_dir],
    ["cluster", JSON.stringify(cluster)],
    ...atStart.map((name): [string, unknown] => [`daemon.${name}`, textOf(daemon?.[name])]),
    ...doors.map(([name, value]): [string, unknown] => [`limits.${name}`, value]),
    ...Object.entries(journal).map(([name, value]): [string, unknown] => [`journal.${name}`, value]),
  ]);
}

/** Lists are compared by their items. */
function textOf(value: unknown): unknown {
  return Array.isArray(value) ? JSON.stringify(value) : value;
}
