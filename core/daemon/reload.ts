import type { DaemonSettings } from "../config/daemon-settings.ts";
import type { HostManifest } from "../config/host-manifest.ts";
import type { Host } from "../host/host.ts";
import type { ReloadChanges } from "../http/door.ts";

/** What of the host manifest is read only when the daemon starts. */
const atStart = ["port", "drain_ms", "log_file_bytes", "log_files"] as const satisfies (keyof DaemonSettings)[];

/**
 * Puts the host manifest that is there now into force.
 * @throws {BulkheadError} what is wrong with it; then the old one stays in force
 */
export async function reloadManifest(
  host: Pick<Host, "reload">,
  { before, after }: { before: HostManifest | undefined; after: HostManifest },
): Promise<ReloadChanges> {
  const changes = await host.reload(after);
  const restart_needed = [
    ...(before?.state_dir === after.state_dir ? [] : ["state_dir"]),
    ...atStart.filter((key) => before?.daemon?.[key] !== after.daemon?.[key]).map((key) => `daemon.${key}`),
  ];
  return { ...changes, restart_needed };
}
