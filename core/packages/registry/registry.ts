import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { HostManifest } from "../../ground/config/host-manifest.ts";
import { unsaid } from "../../ground/config/host-manifest.ts";
import { hostManifestError } from "../../ground/config/host-manifest-places.ts";
import { didYouMean } from "../../ground/config/yaml-problems.ts";
import { demandRecorded } from "../../ground/recorded/demand-recorded.ts";
import { resolve } from "../../ground/runtime/paths.ts";
import { blockedError, blockOf, blocksPackages, packageNameIn } from "./blocked-plugins.ts";
import { findCandidates, inOrder, limitsOf, withPackageName } from "./candidates.ts";
import { type FindPluginsOptions, type FoundPlugin, readPlugin } from "./find-plugins.ts";
import { isAuthored } from "./files-mark.ts";
import { inlineTool } from "./inline-tool.ts";
import { checkId } from "./instances.ts";
import type { Plugin } from "./plugin.ts";
import { registeredSettings, type RegistrySettings, settlePlugin } from "./settle-plugin.ts";

/** Options of {@link createRegistry}. */
interface RegistryOptions extends FindPluginsOptions {
  /** Absent: nothing is enabled but what is registered. */
  manifest?: HostManifest | undefined;
}

/**
 * A plugin that was found and cannot be used. The host goes on: it is not enabled, or what is wrong is its lock or a change
 * that nobody has accepted. The lock itself has its file's name as id.
 */
export interface RegistryProblem {
  id: string;
  folder: string;
  error: BulkheadError;
}

/** All plugins of a host. */
export interface Registry {
  /** Every usable plugin, enabled or not, by id. */
  list(): Plugin[];
  get(id: string): Plugin | undefined;
  /**
   * Adds the plugin of a folder, relative to the root, enabled, with the same checks as at the start. What the host
   * manifest says about its id holds unless `settings` says otherwise; what is denied there stays denied. With an `id`
   * among the settings it is an instance, beside others of the same folder.
   * @throws {BulkheadError} `duplicate_plugin`, `invalid_manifest`, `invalid_config`, `not_found`, `blocked_plugin`,
   * `unaccepted_change`
   */
  register(folder: string, settings?: RegistrySettings): Promise<Plugin>;
  /** Forgets a plugin until the next start; false when there is none of that id. */
  remove(id: string): boolean;
  /**
   * Reads all plugins again, for another host manifest. An unchanged plugin stays the same object; plugins that were
   * registered at run time stay. When it throws, nothing changes.
   * @throws {BulkheadError} as {@link createRegistry}; `unaccepted_change` for a plugin in use whose folder changed while
   * an agent could write it
   */
  reload(manifest: HostManifest): Promise<RegistryChanges>;
  readonly problems: readonly RegistryProblem[];
}

/** Ids of plugins in use that a reload took in, took out, or gave other settings or other code; each sorted. */
export interface RegistryChanges {
  added: string[];
  removed: string[];
  changed: string[];
}

/**
 * Finds all plugins and checks them.
 * Of several with one id the first is used, and the others are problems: what `source` names or the lock installs,
 * then what is bundled, what is installed for the user, `plugins/`, and `node_modules`.
 * @throws {BulkheadError} when one that is enabled cannot be used: `invalid_manifest`, `invalid_config`
 */
export async function createRegistry(options: RegistryOptions): Promise<Registry> {
  let manifest: HostManifest = options.manifest ??
    { bulkhead: 1, plugins: {}, tools: {}, routing: { agent: "auto" }, limits: {} };
  let { plugins, problems } = await readAll(manifest, options);
  return {
    list: () => [...plugins.values()].sort((a, b) => (a.id < b.id ? -1 : 1)),
    get: (id) => plugins.get(id),
    get problems() {
      return problems;
    },
    remove: (id) => plugins.delete(id),
    async reload(next) {
      const read = await readAll(next, options);
      const refused = read.problems.find(({ id, error }) =>
        error.code === "unaccepted_change" && plugins.get(id)?.enabled
      );
      if (refused !== undefined) throw refused.error;
      await keepUnchanged(plugins, { read: read.plugins, manifest: next });
      const changes = changesOf(plugins, read.plugins);
      manifest = next;
      ({ plugins, problems } = read);
      return changes;
    },
    async register(folder, settings = {}) {
      const place = { origin: "registered" as const, limits: limitsOf(manifest), known: options.known };
      await demandRecorded(resolve(options.root, folder), "plugin");
      const read = await withPackageName(manifest, await readPlugin(resolve(options.root, folder), place));
      const found = { ...read, id: settings.id === undefined ? read.id : checkId(settings.id) };
      const plugin = settleRegistered(found, { manifest, known: plugins.get(found.id), settings });
      plugins.set(plugin.id, plugin);
      return plugin;
    },
  };
}

/** Keeps the loaded plugins that did not change, and drops their second reading. */
async function keepUnchanged(
  plugins: ReadonlyMap<string, Plugin>,
  { read, manifest }: { read: Map<string, Plugin>; manifest: HostManifest },
): Promise<void> {
  for (const [id, plugin] of plugins) {
    const known = read.get(id);
    const packageName = blocksPackages(manifest) ? await packageNameIn(plugin.folder) : null;
    const stays = plugin.origin === "registered" && !known?.enabled &&
      blockOf(manifest, { id, packageId: plugin.manifest.id, version: plugin.manifest.version, packageName }) === null;
    if (stays) read.set(id, plugin);
    else if (known && JSON.stringify(known) === JSON.stringify(plugin)) read.set(id, plugin);
  }
}

interface Registration {
  manifest: HostManifest;
  /** Plugin in the registry with that id. */
  known: Plugin | undefined;
  settings: RegistrySettings;
}

/** @throws {BulkheadError} as {@link Registry.register} */
function settleRegistered(found: FoundPlugin, { manifest, known, settings }: Registration): Plugin {
  const own = found.manifest;
  if (!own) throw found.error ?? new BulkheadError("internal", `Plugin "${found.id}" was not read.`);
  // One that was found already stays what it is: a bundled one uses the host's packages.
  const origin = known?.folder === found.folder ? known.origin : found.origin;
  const plugin = settlePlugin({ ...found, origin }, own, {
    manifest,
    settings: registeredSettings(manifest, found.id, settings),
  });
  if (plugin.blocked !== undefined) throw blockedError(plugin.id, plugin.blocked);
  // One that was found already and is not in use may be taken into use.
  if (known && (known.enabled || known.folder !== plugin.folder)) throw duplicate(plugin.id, [known, plugin]);
  return plugin;
}

/** @throws {BulkheadError} as {@link createRegistry} */
async function readAll(
  manifest: HostManifest,
  options: RegistryOptions,
): Promise<{ plugins: Map<string, Plugin>; problems: RegistryProblem[] }> {
  const found = await refuseUnrecorded(await findCandidates(manifest, options), manifest);
  const { plugins, problems, errors } = sortOut(found, manifest);
  for (const id of Object.keys(manifest.tools)) {
    collect(errors, id, () => {
      const tool = inlineTool(manifest, id, options.root);
      const known = plugins.get(id);
      // The host manifest has said what this id is; a folder that came later has no say.
      if (known) problems.push({ id, folder: known.folder, error: passedOver(known, tool) });
      plugins.set(id, tool);
    });
  }
  const told = [...errors, ...problems];
  errors.push(...missingPlugins(manifest, plugins, told));
  if (errors.length > 0) throw oneOf(errors.map(({ error }) => error));
  return { plugins, problems };
}

function changesOf(before: ReadonlyMap<string, Plugin>, after: ReadonlyMap<string, Plugin>): RegistryChanges {
  const inUse = (plugins: ReadonlyMap<string, Plugin>) =>
    [...plugins.values()].filter(({ enabled }) => enabled).map(({ id }) => id).sort();
  const [had, has] = [inUse(before), inUse(after)];
  return {
    added: has.filter((id) => !had.includes(id)),
    removed: had.filter((id) => !has.includes(id)),
    changed: has.filter((id) => had.includes(id) && before.get(id) !== after.get(id)),
  };
}

interface Failure {
  id: string;
  error: BulkheadError;
}

/** A plugin in use whose folder changed while an agent could write it stops, and nothing else does. */
async function refuseUnrecorded(found: readonly FoundPlugin[], manifest: HostManifest): Promise<FoundPlugin[]> {
  return await Promise.all(found.map(async (one) => {
    const { id, folder, place = folder } = one;
    const isUsed = Object.hasOwn(manifest.plugins, id) && manifest.plugins[id]!.enabled;
    if (!isUsed || one.manifest === null || !isAuthored(one)) return one;
    try {
      await demandRecorded(place, "plugin");
      return one;
    } catch (error) {
      if (!(error instanceof BulkheadError)) throw error;
      return { ...one, manifest: null, error, stopsAlone: true as const };
    }
  }));
}

function sortOut(
  found: readonly FoundPlugin[],
  manifest: HostManifest,
): { plugins: Map<string, Plugin>; problems: RegistryProblem[]; errors: Failure[] } {
  const plugins = new Map<string, Plugin>();
  const problems: RegistryProblem[] = [];
  const errors: Failure[] = [];
  for (const id of new Set(found.map((one) => one.id))) {
    const settings = Object.hasOwn(manifest.plugins, id) ? manifest.plugins[id]! : unsaid();
    const candidates = found.filter((one) => one.id === id);
    // The first decides, broken or not: one that appears beside it neither stops the host nor takes its place.
    const [first, ...later] = inOrder(candidates);
    if (first === undefined) continue;
    const failures: Failure[] = first.error ? [{ id, error: first.error }] : [];
    const own = first.manifest;
    if (own) collect(failures, id, () => plugins.set(id, settlePlugin(first, own, { manifest, settings })));
    if (settings.enabled && first.stopsAlone !== true) errors.push(...failures);
    else problems.push(...failures.map(({ error }) => ({ id, folder: first.folder, error })));
    problems.push(...later.map((one) => ({ id, folder: one.folder, error: passedOver(one, first) })));
  }
  return { plugins, problems, errors };
}

function collect(failures: Failure[], id: string, action: () => void): void {
  try {
    action();
  } catch (error) {
    if (!(error instanceof BulkheadError)) throw error;
    failures.push({ id, error });
  }
}

/** @param told what is said already of plugins that cannot be used */
function missingPlugins(manifest: HostManifest, plugins: Map<string, Plugin>, told: readonly Failure[]): Failure[] {
  return Object.entries(manifest.plugins)
    .filter(([id, { enabled }]) => enabled && !plugins.has(id) && !told.some((failure) => failure.id === id))
    .map(([id]) => {
      const hint = didYouMean(id, [...plugins.keys()]) ?? "its folder can be named as its source";
      const words = { expected: "the id of a plugin", found: `${JSON.stringify(id)}, which does not exist`, hint };
      return { id, error: hostManifestError(manifest, [{ path: ["plugins", id], of: "key", ...words }]) };
    });
}

function duplicate(id: string, all: readonly { folder: string; origin: Plugin["origin"] }[]): BulkheadError {
  const folders = all.map(({ folder }) => folder);
  const places = all.map(({ folder, origin }) => `${folder} (${origin})`).join(" and ");
  return new BulkheadError("duplicate_plugin", `Cannot load plugin "${id}": it stands in ${places}.`, {
    hint: `Name the folder to use as plugins.${id}.source in the host manifest, or give one another id.`,
    details: { plugin_id: id, folders },
  });
}

/** Of two with one id the first is used; this is what is said of the other. */
function passedOver(
  { id, folder }: { id: string; folder: string },
  used: { folder: string; origin: Plugin["origin"] },
): BulkheadError {
  const message = `Cannot use the plugin in ${folder}: its id "${id}" is that of ${used.folder} (${used.origin}).`;
  return new BulkheadError("duplicate_plugin", message, {
    hint: `Remove the folder, give it another id, or name it as plugins.${id}.source in the host manifest.`,
    details: { plugin_id: id, folders: [used.folder, folder] },
  });
}

function oneOf(errors: readonly BulkheadError[]): BulkheadError {
  const [first] = errors;
  if (first && errors.length === 1) return first;
  const details = { errors: errors.map((error) => error.toJSON()) };
  const message = errors.map((error) => error.message).join("\n");
  return new BulkheadError(first?.code ?? "internal", message, { hint: first?.hint, details });
}
