import type { ErrorData } from "../../../plugin-sdk/errors.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import type { BinaryPin } from "../../walls/broker/binary-pins.ts";
import type { Host } from "../../sessions/host/host.ts";
import {
  type WaitingReport,
  waitingReport,
  type WaitingUpdate,
  WaitingUpdates,
} from "../../packages/install/waiting-update.ts";
import type { CrashRecord } from "../../walls/pool/plugin-health.ts";
import type { ExplainedPermission } from "../../packages/registry/explain-permissions.ts";
import { Explanations } from "../../packages/registry/explanations.ts";
import type { Plugin } from "../../packages/registry/plugin.ts";
import type { ProgramWalls } from "../../packages/registry/program-walls.ts";
import type { RegistryProblem } from "../../packages/registry/registry.ts";
import { pluginOf } from "../../packages/registry/unknown-plugin.ts";

/** A plugin in a list, as `bulkhead plugin list --json` prints it. */
export interface PluginReport {
  id: string;
  /** Id of the plugin that it is an instance of; null where it is none. */
  instance_of: string | null;
  name: string;
  version: string;
  description: string;
  adapter_type: string;
  folder: string;
  origin: string;
  enabled: boolean;
  /** The line of the host manifest that blocks it; null: none does. */
  blocked: string | null;
  trusted: boolean;
  isolation: string;
  /** Its files have changed since the host loaded them: sessions run the loaded code until a reload. */
  edited: boolean;
  quarantine: CrashRecord | null;
  /** An update that was not installed, because it asks for more; null: none waits. */
  waiting_update: WaitingReport | null;
}

/** A plugin that cannot be used. */
export interface PluginProblem {
  id: string;
  folder: string;
  enabled: false;
  /** Whether the host manifest enables it: its sessions are refused with the error. */
  unavailable: boolean;
  error: ErrorData;
}

/** A plugin with its permissions and the decision about each. */
export interface ExplainedPlugin extends PluginReport {
  manifest: Plugin["manifest"];
  /** Pins of its programs. */
  pins: BinaryPin[];
  permissions: readonly ExplainedPermission[];
  /** The walls around each of its programs. */
  programs: readonly ProgramWalls[];
  /** The options that it declares; null if none. */
  config: Plugin["manifest"]["config"] | null;
  /** Permissions that the waiting update asks for and the operator has not decided about, the riskiest first. */
  waiting_permissions: ExplainedPermission[];
}

/** The operator's decisions about a plugin's permissions, as written. */
export interface PluginGrants {
  plugin_id: string;
  grant: Permissions;
  deny: Permissions;
}

/** Plugins as the door shows them. */
export interface PluginFacts {
  list(): Promise<PluginReport[]>;
  /** Plugins that cannot be used. */
  problems(): Promise<PluginProblem[]>;
  /** @throws {BulkheadError} `not_found` */
  explain(id: string): Promise<ExplainedPlugin>;
  /**
   * Returns a plugin's permissions and the decision about each.
   * @throws {BulkheadError} `not_found`
   */
  permissions(id: string): readonly ExplainedPermission[];
  /** @throws {BulkheadError} `not_found` */
  grants(id: string): PluginGrants;
  /**
   * Lifts a plugin's quarantine and forgets its crashes; false when it had none.
   * @throws {BulkheadError} `not_found`
   */
  release(id: string): Promise<boolean>;
}

/** Reads the plugins of a host; `manifestFile` is the path of its host manifest. */
export function pluginFacts(
  host: Pick<Host, "registry" | "edited" | "quarantined" | "pinned" | "release">,
  manifestFile: string | undefined,
): PluginFacts {
  const { registry } = host;
  const explanations = new Explanations(registry, { manifestFile });
  const updates = new WaitingUpdates(manifestFile);
  return {
    async list() {
      const stateOf = await statesOf(host, updates);
      const plugins = registry.list().toSorted((a, b) => a.id.localeCompare(b.id));
      return plugins.map((plugin) => report(plugin, stateOf(plugin.id)));
    },
    async problems() {
      return registry.problems().map(problemOf);
    },
    async explain(id) {
      const plugin = pluginOf(registry, id);
      const state = (await statesOf(host, updates))(id);
      return {
        ...report(plugin, state),
        manifest: plugin.manifest,
        pins: await host.pinned(id),
        ...explanations.of(plugin),
        config: plugin.manifest.config ?? null,
        waiting_permissions: state.waiting?.undecided ?? [],
      };
    },
    permissions: (id) => explanations.of(pluginOf(registry, id)).permissions,
    async release(id) {
      const released = await host.release(id);
      // A record may outlive its plugin; an id that is neither is a mistake.
      if (!released) pluginOf(registry, id);
      return released;
    },
    grants: (id) => {
      const { grant, deny } = pluginOf(registry, id);
      return { plugin_id: id, grant, deny };
    },
  };
}

function problemOf({ id, folder, error, unavailable }: RegistryProblem): PluginProblem {
  return { id, folder, enabled: false, unavailable, error: error.toJSON() };
}

/** A plugin's state, as far as the plugin does not hold it itself. */
interface PluginState {
  edited: boolean;
  quarantine: CrashRecord | undefined;
  waiting: WaitingUpdate | undefined;
}

/** Looks at the state of all plugins; the function it gives returns one's. */
async function statesOf(
  host: Pick<Host, "registry" | "edited" | "quarantined">,
  updates: WaitingUpdates,
): Promise<(id: string) => PluginState> {
  const [edited, records, waiting] = await Promise.all([
    host.edited(),
    host.quarantined(),
    updates.find(host.registry.list()),
  ]);
  const quarantined = new Map(records.map((record) => [record.plugin_id, record]));
  return (id) => ({ edited: edited.includes(id), quarantine: quarantined.get(id), waiting: waiting.get(id) });
}

function report(
  { id, manifest, folder, origin, enabled, blocked, trusted, isolation }: Plugin,
  { edited, quarantine, waiting }: PluginState,
): PluginReport {
  const { name, version, description, adapter_type } = manifest;
  const stated = { id, name, version, description, adapter_type, folder, origin, enabled, trusted, isolation };
  return {
    ...stated,
    instance_of: manifest.id === id ? null : manifest.id,
    blocked: blocked ?? null,
    edited,
    quarantine: quarantine ?? null,
    waiting_update: waitingReport(id, waiting),
  };
}
