import { type Caller, hasScope } from "./scopes.ts";
import type {
  CrashRecord,
  ExplainedPermission,
  ExplainedPlugin,
  PluginProblem,
  PluginReport,
} from "../../../plugin-sdk/plugin-report.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import type { Host } from "../../sessions/host/host.ts";
import { waitingReport, type WaitingUpdate, WaitingUpdates } from "../../packages/install/waiting-update.ts";
import { Explanations } from "../../packages/registry/explanations.ts";
import type { Plugin } from "../../packages/manifest/plugin.ts";
import type { RegistryProblem } from "../../packages/registry/registry.ts";
import { hostEnv } from "../../ground/platform/engine/platform.ts";
import { variablesRead } from "../../packages/permissions/requested-permissions.ts";
import { broadPlaces } from "../../packages/permissions/broad-permissions.ts";
import {
  allowedBy,
  grantsFor,
  type Judgement,
  judgeUses,
  type PastUse,
  type TypedGrant,
} from "../../packages/permissions/try-grant.ts";
import { pluginOf } from "../../packages/registry/unknown-plugin.ts";

/** The operator's decisions about a plugin's permissions, as written. */
export interface PluginGrants {
  plugin_id: string;
  grant: Permissions;
  deny: Permissions;
}

/** Effect that a grant would have, decided as a session decides. */
interface TriedGrant {
  /** Rows of the plugin's permissions that it would allow, or allow more of. */
  allows: Pick<ExplainedPermission, "permission" | "target">[];
  judge(use: PastUse): Judgement;
}

/** State of a use that was denied: allowed since, open to these grants, or refused whatever is granted. */
export interface DenialStanding {
  now: "allowed" | "grantable" | "refused";
  grants: TypedGrant[];
}

/** Plugins as the door shows them. */
export interface PluginFacts {
  list(): Promise<PluginReport[]>;
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
   * Tries a grant before it is given.
   * @throws {BulkheadError} `not_found`
   */
  tried(id: string, grant: TypedGrant): TriedGrant;
  /** Tells how a use that was denied stands now; `refused` with a plugin that is gone. */
  standing(id: string, use: PastUse): DenialStanding;
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
        open_grants: explanations.openGrantsOf(plugin),
        config: plugin.manifest.config ?? null,
        waiting_permissions: state.waiting?.undecided ?? [],
      };
    },
    permissions: (id) => explanations.of(pluginOf(registry, id)).permissions,
    standing(id, use) {
      const plugin = registry.get(id);
      return plugin === undefined ? { now: "refused", grants: [] } : standingOf(plugin, { use, explanations });
    },
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
    tried(id, grant) {
      const plugin = pluginOf(registry, id);
      const rows = allowedBy(plugin, { grants: [grant], places: broadPlaces(manifestFile) });
      return {
        allows: rows.map(({ permission, target }) => ({ permission, target })),
        judge: judgeUses(plugin, grant),
      };
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
  { id, manifest, config, folder, origin, enabled, blocked, trusted, isolation }: Plugin,
  { edited, quarantine, waiting }: PluginState,
): PluginReport {
  const { name, version, description, adapter_type } = manifest;
  const stated = { id, name, version, description, adapter_type, folder, origin, enabled, trusted, isolation };
  return {
    ...stated,
    instance_of: manifest.id === id ? null : manifest.id,
    blocked: blocked ?? null,
    edited,
    env_missing: enabled ? variablesRead({ manifest, config }).filter((name) => !hostEnv(name)) : [],
    quarantine: quarantine ?? null,
    waiting_update: waitingReport(id, waiting),
  };
}

function standingOf(
  plugin: Plugin,
  { use, explanations }: { use: PastUse; explanations: Explanations },
): DenialStanding {
  if (judgeUses(plugin)(use) === "allowed") return { now: "allowed", grants: [] };
  const grants = grantsFor(plugin, { rows: explanations.of(plugin).permissions, use });
  return { now: grants.length > 0 ? "grantable" : "refused", grants };
}

/** A host's plugins, restricted to what one caller may see: a token that may only run sessions sees none. */
export function callerPlugins(caller: Caller, plugins: PluginFacts): Pick<PluginFacts, "list" | "standing"> {
  return {
    list: async () => hasScope(caller, "read") ? await plugins.list() : [],
    standing: (id, use) => plugins.standing(id, use),
  };
}
