import { isPinned } from "../../../walls/broker/resolve-binary.ts";
import type { Manifest, OptionSchema } from "../../../../plugin-sdk/manifest.ts";
import { isPluginId } from "../../../ground/config/plugin-ids.ts";
import { hostEnv } from "../../../ground/platform/engine/platform.ts";
import { chosenPermissions, possiblePermissions } from "../../../packages/manifest/option-permissions.ts";
import type { Plugin } from "../../../packages/manifest/plugin.ts";
import { requestedWith } from "../../../packages/permissions/requested-permissions.ts";
import { programPath } from "../program-path.ts";
import type { AgentReport } from "../../../../plugin-sdk/agent-report.ts";
import type { Invocation } from "../command.ts";

/** An agent of this machine that a plugin can drive. */
export interface FoundAgent {
  /** Its manifest asks for what this agent needs, which is less where an option chose the agent. */
  plugin: Plugin;
  /** Whether it is an instance that no entry of the host manifest makes yet. */
  isNew: boolean;
  /** Path of its program; null for an agent without one. */
  program: string | null;
  /** The variable of the environment that holds its key; null when there is none. */
  key: string | null;
}

/**
 * Finds the agents that are on this machine: their program is on the PATH or their key in the environment. A plugin whose
 * option chooses the program is offered as an instance for each program that no other plugin starts. Starts nothing.
 */
export async function findAgents(plugins: readonly Plugin[], { cwd }: { cwd: string }): Promise<FoundAgent[]> {
  const { known, instances } = drivable(plugins);
  const found = await Promise.all([
    ...known.map((plugin) => findAgent(plugin, { cwd, isNew: false })),
    ...instances.map((plugin) => findAgent(plugin, { cwd, isNew: true })),
  ]);
  return found.flatMap((agent) => agent ?? []);
}

/** An agent that a bundled plugin could drive, and how to install it. */
export interface MissingAgent {
  id: string;
  /** A command, or where to read about it. */
  install: string;
}

/** Lists the agents of bundled plugins whose program is not on this machine, where their manifest says how to get it. */
export async function missingAgents(plugins: readonly Plugin[], { cwd }: { cwd: string }): Promise<MissingAgent[]> {
  const { known, instances } = drivable(plugins);
  const missing = [...known, ...instances].map(async (plugin): Promise<MissingAgent[]> => {
    const program = programOf(plugin);
    const install = program === null ? undefined : plugin.manifest.install?.[program];
    if (plugin.origin !== "bundled" || program === null || install === undefined) return [];
    return await programPath(program, cwd) === null ? [{ id: plugin.id, install }] : [];
  });
  return (await Promise.all(missing)).flat();
}

/** The plugins, and an instance for each program that an option chooses and no plugin starts. */
function drivable(plugins: readonly Plugin[]): { known: Plugin[]; instances: Plugin[] } {
  const known = plugins.map(withItsNeeds);
  const started = known.flatMap((plugin) => programOf(plugin) ?? []);
  const instances = plugins.flatMap((plugin) => possibleInstances(plugin, plugins)).map(withItsNeeds)
    .filter((instance) => !started.includes(programOf(instance) ?? ""));
  return { known, instances };
}

/** Reduces a manifest whose option chose the program to what that needs: the rest is for options that are off. */
function withItsNeeds(plugin: Plugin): Plugin {
  return isChosen(plugin) ? { ...plugin, manifest: { ...plugin.manifest, permissions: {} } } : plugin;
}

function isChosen({ manifest: { permissions_for = {} }, config }: Plugin): boolean {
  return chosenPermissions({ permissions_for }, config).run !== undefined;
}

/** Names the one program that a plugin starts; null for none, and for an adapter of several agents. */
function programOf(plugin: Plugin): string | null {
  const { manifest, config } = plugin;
  const { permissions_for = {} } = manifest;
  if (possiblePermissions({ permissions_for }).run !== undefined && !isChosen(plugin)) return null;
  const names = (requestedWith(manifest, config).run ?? []).map(({ binary }) => binary).filter(isPinned);
  return new Set(names).size === 1 ? names[0]! : null;
}

/** Makes an instance of a plugin for each value of an option that permissions depend on. */
function possibleInstances(plugin: Plugin, plugins: readonly Plugin[]): Plugin[] {
  const { id, manifest, origin, blocked } = plugin;
  if (id !== manifest.id || origin === "inline" || blocked !== undefined) return [];
  return Object.entries(manifest.permissions_for ?? {}).flatMap(([option, entries]) =>
    Object.keys(entries).flatMap((value) => {
      const instance = instanceId(value, { id, plugins });
      const isFree = isPluginId(instance) && !plugins.some((other) => other.id === instance);
      const config = { [option]: typed(value, manifest.config?.properties[option]) };
      return isFree ? [{ ...plugin, id: instance, enabled: false, grant: {}, deny: {}, config }] : [];
    })
  );
}

/** The value of the option that a key stands for. */
function typed(key: string, option: OptionSchema | undefined): string | number {
  return option?.enum?.find((value) => String(value) === key) ?? key;
}

/** The value alone where no plugin is called so or begins with it, else with the id of the plugin behind it. */
function instanceId(value: string, { id, plugins }: { id: string; plugins: readonly Plugin[] }): string {
  const isTaken = plugins.some((other) => other.id === value || other.id.startsWith(`${value}-`));
  return isTaken ? `${value}-${id}` : value;
}

async function findAgent(
  plugin: Plugin,
  { cwd, isNew }: { cwd: string; isNew: boolean },
): Promise<FoundAgent | null> {
  const { manifest, origin } = plugin;
  // A package of the project's own is no agent that is installed here.
  if (manifest.adapter_type === "tool" || origin === "inline" || needsOptions(plugin)) return null;
  const key = keyOf(manifest);
  const name = programOf(plugin);
  if (name === null) {
    return manifest.adapter_type === "model" && key !== null ? { plugin, isNew, program: null, key } : null;
  }
  const program = await programPath(name, cwd);
  return program === null ? null : { plugin, isNew, program, key };
}

/** An agent that works only once an option is set cannot be set up without asking for it. */
function needsOptions({ manifest, config }: Plugin): boolean {
  return (manifest.config?.required ?? []).some((option) => !Object.hasOwn(config, option));
}

function keyOf({ access_modes = [] }: Manifest): string | null {
  const names = access_modes.flatMap((mode) => mode.type === "api" ? mode.api_key_env_var ?? [] : []);
  return names.find((name) => (hostEnv(name) ?? "") !== "") ?? null;
}

/** An agent of this machine, and what it answered when the host asked it. */
export interface AskedAgent extends FoundAgent {
  report: AgentReport;
}

/** Asks each agent for its version and login, behind the walls, in a host that keeps nothing. */
export async function askAgents(call: Invocation, found: readonly FoundAgent[]): Promise<AskedAgent[]> {
  const host = await call.createHost({ root: call.terminal.cwd, stateDir: null, bundledDir: null });
  try {
    for (const { plugin: { id, folder, manifest, config, os_walls } } of found) {
      await host.registry.register(folder, { id, config, grant: requestedWith(manifest, config), os_walls });
    }
    const reports = await host.agents({ refresh: true });
    return found.flatMap((agent) => {
      const report = reports.find(({ id }) => id === agent.plugin.id);
      return report === undefined ? [] : [{ ...agent, report }];
    });
  } finally {
    await host.close();
  }
}
