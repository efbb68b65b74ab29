import type { HostManifest } from "../../ground/config/host-manifest.ts";
import { type PluginFacts, pluginFacts } from "../http/plugin-facts.ts";
import type { Invocation } from "./command.ts";
import { openHost } from "./open-host.ts";
import { daemonFor } from "./open-sessions.ts";

/** Plugins for a command, and the host manifest that configures them. */
interface OpenedPlugins extends AsyncDisposable {
  facts: Pick<PluginFacts, "list" | "problems" | "explain">;
  /** Absent where no bulkhead.yaml was found. */
  manifest: HostManifest | undefined;
}

/**
 * Opens the plugins of the daemon that runs for this command's state folder and host manifest, as they are in force
 * there, else those of a host in this process. Close them with `await using`.
 * @throws {BulkheadError} as `openHost`, `unavailable` when the daemon does not answer
 */
export async function openPlugins(call: Invocation): Promise<OpenedPlugins> {
  const daemon = call.embedded ? null : await daemonFor(call);
  if (daemon !== null) {
    const { connectDaemon, ours } = await import("./remote-sessions.ts");
    const remote = await connectDaemon(daemon.record);
    return {
      facts: {
        list: () => ours(remote.plugins()),
        problems: () => ours(remote.pluginProblems()),
        explain: (id) => ours(remote.explain(id)),
      },
      manifest: daemon.manifest,
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }
  const { host, manifest, [Symbol.asyncDispose]: close } = await openHost(call);
  return { facts: pluginFacts(host, manifest?.file), manifest, [Symbol.asyncDispose]: close };
}
