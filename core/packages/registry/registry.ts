import { BulkheadError, errorFromData } from "../../../plugin-sdk/errors.ts";
import { fieldsOrNone, stringOf } from "../../../plugin-sdk/json-fields.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import type { HostManifest } from "../../ground/config/host-manifest.ts";
import { unsaid } from "../../ground/config/host-manifest.ts";
import { hostManifestError, hostManifestProblem, placesOf } from "../../ground/config/host-manifest-places.ts";
import { describeFound, didYouMean, pathText } from "../../ground/config/yaml-problems.ts";
import { toBulkheadError } from "../../ground/errors/to-error-data.ts";
import { demandRecorded } from "../../ground/recorded/demand-recorded.ts";
import { resolve } from "../../ground/platform/files/paths.ts";
import { blockedError, blockOf, blocksPackages, packageNameIn } from "./blocked-plugins.ts";
import { findCandidates, inOrder, limitsOf, withPackageName } from "./candidates.ts";
import { type FindPluginsOptions, type FoundPlugin, readPlugin } from "../manifest/find-plugins.ts";
import { isAuthored } from "./files-mark.ts";
import { inlineTool } from "./inline-tool.ts";
import { checkId } from "./instances.ts";
import type { Plugin } from "../manifest/plugin.ts";
import { registeredSettings, type RegistrySettings, settlePlugin } from "./settle-plugin.ts";

/** Options of {@link createRegistry}. */
interface RegistryOptions extends FindPluginsOptions {
  /** Absent: nothing is enabled but what is registered. */
  manifest?: HostManifest | undefined;
}

/**
 * A plugin that cannot be used, or a folder that is passed over. The host goes on without it. The lock itself has its
 * file's name as id.
 */
export interface RegistryProblem {
  id: string;
  folder: string;
  /** Path by which it was found, where that leads to its folder by a link. */
  place?: string;
  error: BulkheadError;
  /** Whether the host manifest enables it: its sessions are refused with the error. */
  unavailable: boolean;
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
   * @throws {BulkheadError} `unaccepted_change` for a plugin in use whose folder changed while an agent could write it
   */
  reload(manifest: HostManifest): Promise<RegistryChanges>;
  readonly problems: readonly RegistryProblem[];
}

/** Ids of plugins in use that a reload took in, took out, or gave other settings or other code; each sorted. */
export interface RegistryChanges {
  added: string[];
  removed: string[];
  changed: string[];
  /** Ids of enabled plugins that cannot be used now, whether or not they could be before. */
  unavailable: string[];
}

/**
 * Finds all plugins and checks them. One that cannot be used is a problem, and the others are there.
 * Of several with one id the first is used, and the others are problems: what `source` names or the lock installs,
 * then what is bundled, what is installed for the user, `plugins/`, and `node_modules`.
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
      const changes = changesOf(plugins, read);
      manifest = next;
      ({ plugins, problems } = read);
      return changes;
    },
    async register(folder, settings = {}) {
      demandFolder(folder);
      const place = { origin: "registered" as const, limits: limitsOf(manifest), known: options.known };
      await demandRecorded(resolve(options.root, folder), "plugin");
      const read = await withPackageName(manifest, await readPlugin(resolve(options.root, folder), place));
      const found = { ...read, id: settings.id === undefined ? read.id : checkId(settings.id) };
      // What its entry denies cannot be read.
      const wrong = leftOut(manifest).find(({ id }) => id === found.id);
      if (wrong !== undefined) throw wrong.error;
      const plugin = settleRegistered(found, { manifest, known: plugins.get(found.id), settings });
      plugins.set(plugin.id, plugin);
      return plugin;
    },
  };
}

/** A program without types may give the adapter itself, as other hosts take it: here its code runs behind walls. */
function demandFolder(folder: unknown): void {
  if (typeof folder === "string") return;
  const found = typeof folder === "function" ? `the class or function "${folder.name}"` : describeFound(folder);
  throw new BulkheadError(
    "invalid_config",
    `Cannot register a plugin: expected the path of its folder, found ${found}.`,
    {
      hint: "Give the folder that holds plugin.yaml. The host loads the adapter from there, behind its walls.",
    },
  );
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

async function readAll(
  manifest: HostManifest,
  options: RegistryOptions,
): Promise<{ plugins: Map<string, Plugin>; problems: RegistryProblem[] }> {
  const found = await refuseUnrecorded(await findCandidates(manifest, options), manifest);
  const { plugins, problems } = sortOut(found, manifest);
  for (const id of Object.keys(manifest.tools)) {
    const known = plugins.get(id);
    plugins.delete(id);
    const error = failureOf(() => plugins.set(id, inlineTool(manifest, id, options.root)));
    if (error !== null) problems.push(unusable(manifest, { id, folder: options.root, error }));
    // The host manifest has said what this id is; a folder that came later has no say.
    const used = { folder: options.root, origin: "inline" as const };
    if (known) problems.push({ id, folder: known.folder, error: passedOver(known, used), unavailable: false });
  }
  for (const { id, error } of leftOut(manifest)) {
    // Its folder is guarded as that of a plugin in use: once the entry is mended, its code is believed.
    const folder = sourceOf(manifest, id) ?? plugins.get(id)?.folder ?? "";
    plugins.delete(id);
    problems.push({ id, folder: resolve(options.root, folder), error, unavailable: true });
  }
  problems.push(...missingPlugins(manifest, { plugins, told: problems, root: options.root }));
  return { plugins, problems };
}

/** Returns the entries of the host manifest that are wrong themselves. */
function leftOut({ left_out = {} }: HostManifest): { id: string; error: BulkheadError }[] {
  return Object.entries(left_out).map(([id, data]) => ({ id, error: errorFromData(data) }));
}

/** Returns the source that a wrong entry names; undefined for none. */
function sourceOf(manifest: HostManifest, id: string): string | undefined {
  const entry = fieldsOrNone(fieldsOrNone(fieldsOrNone(placesOf(manifest)?.value)["plugins"])[id]);
  return stringOf(entry["source"]) ?? undefined;
}

/** An enabled plugin that cannot be used. */
function unusable(
  manifest: HostManifest,
  { id, folder, place, error }: Pick<FoundPlugin, "id" | "folder"> & {
    place?: string | undefined;
    error: BulkheadError;
  },
): RegistryProblem {
  return { id, folder, ...omitUndefined({ place }), error: withItsEntry(error, id, manifest), unavailable: true };
}

/** Says which plugin it is, and which line of the host manifest enables it, where the error does not. */
function withItsEntry(error: BulkheadError, id: string, manifest: HostManifest): BulkheadError {
  const { code, message, hint, details, cause } = error;
  if (code === "unaccepted_change") return error;
  const path = [Object.hasOwn(manifest.tools, id) ? "tools" : "plugins", id];
  const { file, line } = hostManifestProblem(manifest, { path, of: "key", expected: "", found: "" });
  const isNamed = message.includes(JSON.stringify(id)) || message.includes(pathText(path));
  const isPlaced = placesOf(manifest) === undefined || message.includes(file);
  const entry = isPlaced ? undefined : `It is enabled in ${file}:${line}. Correct the plugin, or remove it there.`;
  return new BulkheadError(code, isNamed ? message : `Cannot use plugin "${id}": ${message}`, {
    hint: hint ?? entry,
    details,
    cause,
  });
}

function changesOf(
  before: ReadonlyMap<string, Plugin>,
  { plugins: after, problems }: { plugins: ReadonlyMap<string, Plugin>; problems: readonly RegistryProblem[] },
): RegistryChanges {
  const inUse = (plugins: ReadonlyMap<string, Plugin>) =>
    [...plugins.values()].filter(({ enabled }) => enabled).map(({ id }) => id).sort();
  const [had, has] = [inUse(before), inUse(after)];
  return {
    added: has.filter((id) => !had.includes(id)),
    removed: had.filter((id) => !has.includes(id)),
    changed: has.filter((id) => had.includes(id) && before.get(id) !== after.get(id)),
    unavailable: [...new Set(problems.flatMap(({ id, unavailable }) => unavailable ? [id] : []))].sort(),
  };
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
      // Also what keeps its record from being read is this plugin's alone.
      return { ...one, manifest: null, error: toBulkheadError(error) };
    }
  }));
}

function sortOut(
  found: readonly FoundPlugin[],
  manifest: HostManifest,
): { plugins: Map<string, Plugin>; problems: RegistryProblem[] } {
  const plugins = new Map<string, Plugin>();
  const problems: RegistryProblem[] = [];
  for (const id of new Set(found.map((one) => one.id))) {
    const settings = Object.hasOwn(manifest.plugins, id) ? manifest.plugins[id]! : unsaid();
    const candidates = found.filter((one) => one.id === id);
    // The first decides, broken or not: one that appears beside it does not take its place.
    const [first, ...later] = inOrder(candidates);
    if (first === undefined) continue;
    const { folder, place, manifest: own } = first;
    const error = first.error ??
      failureOf(() => own && plugins.set(id, settlePlugin(first, own, { manifest, settings })));
    if (error !== null && settings.enabled) problems.push(unusable(manifest, { id, folder, place, error }));
    else if (error !== null) problems.push({ id, folder, error, unavailable: false });
    problems.push(
      ...later.map((one) => ({ id, folder: one.folder, error: passedOver(one, first), unavailable: false })),
    );
  }
  return { plugins, problems };
}

function failureOf(action: () => void): BulkheadError | null {
  try {
    action();
    return null;
  } catch (error) {
    return toBulkheadError(error);
  }
}

/** @param told problems that are known already */
function missingPlugins(
  manifest: HostManifest,
  { plugins, told, root }: {
    plugins: ReadonlyMap<string, Plugin>;
    told: readonly RegistryProblem[];
    root: string;
  },
): RegistryProblem[] {
  return Object.entries(manifest.plugins)
    .filter(([id, { enabled }]) => enabled && !plugins.has(id) && !told.some((problem) => problem.id === id))
    .map(([id]) => {
      const hint = didYouMean(id, [...plugins.keys()]) ?? "its folder can be named as its source";
      const words = { expected: "the id of a plugin", found: `${JSON.stringify(id)}, which does not exist`, hint };
      const error = hostManifestError(manifest, [{ path: ["plugins", id], of: "key", ...words }]);
      return { id, folder: root, error, unavailable: true };
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
