import { idForm } from "../../ground/config/plugin-ids.ts";
import type { HostManifest } from "../../ground/config/host-manifest.ts";
import { hostManifestProblem } from "../../ground/config/host-manifest-places.ts";
import { defaultLimits, type Limits } from "../../ground/config/limits.ts";
import { didYouMean, problemsError } from "../../ground/config/yaml-problems.ts";
import { realpath } from "../../ground/platform/files/files.ts";
import { basename, resolve } from "../../ground/platform/files/paths.ts";
import { blocksPackages, packageNameIn } from "./blocked-plugins.ts";
import { findInstalled } from "./find-installed.ts";
import { findPlugins, type FindPluginsOptions, type FoundPlugin, readPlugin } from "../manifest/find-plugins.ts";

/** An entry of the host manifest that says where its plugin comes from. */
interface Sourced {
  id: string;
  source: string;
}

/** The host manifest, and what was found without its sources. */
interface Known {
  manifest: HostManifest;
  found: readonly FoundPlugin[];
}

/**
 * Returns what was found, what is installed, and what entries of the host manifest name as their `source`: another
 * plugin by its id, or a folder. Others with the id of such an entry are passed over, and so are others than the
 * installed one.
 *
 * The key of an entry is the id of the plugin; the id in the package's own manifest is that of the package. They differ
 * for an instance, one of several plugins of one package.
 */
export async function findCandidates(manifest: HostManifest, options: FindPluginsOptions): Promise<FoundPlugin[]> {
  const { env, known: manifests } = options;
  const limits = limitsOf(manifest);
  const found = await findPlugins(options, limits);
  const terms = { env, known: manifests, limits };
  const installed = manifest.file === undefined ? [] : await findInstalled(manifest.file, terms);
  const known = { manifest, found: [...installed, ...inOrder(found)] };
  const picked = new Map(installed.map((one) => [one.id, one]));
  const { folders, words } = sourcesOf(known);
  for (const entry of folders) {
    const path = resolve(options.root, entry.source);
    const folder = await realpath(path).catch(() => path);
    const one = found.find((candidate) => candidate.folder === folder) ??
      await readPlugin(folder, { origin: "folder", limits, known: manifests });
    picked.set(entry.id, asEntry(entry, path === folder ? one : { ...one, place: path }, known));
  }
  const taken = new Set([...picked.keys(), ...words.map(({ id }) => id)]);
  const bases = [...picked.values(), ...known.found.filter(({ id }) => !taken.has(id))];
  for (const entry of words) {
    const base = bases.find(({ id }) => id === entry.source);
    picked.set(entry.id, base === undefined ? noBase(entry, known) : asEntry(entry, base, known));
  }
  const all = [...found.filter(({ id }) => !picked.has(id)), ...picked.values()];
  return await Promise.all(all.map((one) => withPackageName(manifest, one)));
}

/** Returns the host's limits, without those of its plugins. */
export function limitsOf(manifest: HostManifest): Limits {
  return { ...defaultLimits, ...manifest.limits };
}

/** Adds the name of its package, where the host manifest blocks some by name. */
export async function withPackageName(manifest: HostManifest, found: FoundPlugin): Promise<FoundPlugin> {
  return blocksPackages(manifest) ? { ...found, packageName: await packageNameIn(found.folder) } : found;
}

/** Bundled and installed for the user before those of the project; there one in a folder of its own name first. */
export function inOrder(candidates: readonly FoundPlugin[]): FoundPlugin[] {
  const own = ({ id, folder, origin }: FoundPlugin) => (origin === "folder" && basename(folder) === id ? 0 : 1);
  return [...candidates].sort((a, b) => (a.origin === "folder" && b.origin === "folder" ? own(a) - own(b) : 0));
}

/** Separates the sources that name a plugin, by its id, from those that are folders. */
function sourcesOf({ manifest: { plugins }, found }: Known): { folders: Sourced[]; words: Sourced[] } {
  const isFound = (word: string) => found.some(({ id }) => id === word);
  const sourced = Object.entries(plugins).flatMap(([id, { source }]): Sourced[] =>
    source === undefined || (source === id && isFound(id)) ? [] : [{ id, source }]
  );
  const isWord = ({ id, source }: Sourced) => isFound(source) || (source !== id && Object.hasOwn(plugins, source));
  return { folders: sourced.filter((one) => !isWord(one)), words: sourced.filter(isWord) };
}

/** Gives a plugin the id of the entry that names it. */
function asEntry(entry: Sourced, one: FoundPlugin, known: Known): FoundPlugin {
  const { id, source } = entry;
  const packageId = one.manifest?.id;
  if (one.error?.code === "not_found" && idForm.test(source)) return noBase(entry, known);
  if (packageId === undefined || packageId === id) return { ...one, id };
  if (one.id === source && packageId !== source) return noBase(entry, known);
  // The host must start even if a new folder appears beside it, so only the operator's own plugins count.
  const other = known.found.find((each) => each.id === id && (each.origin === "bundled" || each.hashes !== undefined));
  if (other === undefined) return { ...one, id };
  const expected = `the folder of plugin "${id}", or an id that no other plugin has`;
  const found = `plugin "${packageId}", and "${id}" is ${other.origin}`;
  return refused(entry, known, { expected, found, hint: `give this instance another id, ${id}-2 for example` });
}

/** Refuses a source that is no package: a typing error, or the id of an instance. */
function noBase(entry: Sourced, known: Known): FoundPlugin {
  const { manifest: { plugins }, found } = known;
  const base = Object.hasOwn(plugins, entry.source) ? plugins[entry.source]!.source : undefined;
  const [what, hint] = base === undefined
    ? ["which is neither", didYouMean(entry.source, found.map(({ id }) => id))]
    : ["which is an instance itself", `name what that one names: ${base}`];
  return refused(entry, known, {
    expected: "the id of a plugin, or a folder",
    found: `${JSON.stringify(entry.source)}, ${what}`,
    hint,
  });
}

function refused(
  { id, source }: Sourced,
  { manifest }: Known,
  words: { expected: string; found: string; hint?: string | undefined },
): FoundPlugin {
  const error = problemsError("invalid_config", [
    hostManifestProblem(manifest, { path: ["plugins", id, "source"], ...words }),
  ]);
  return { id, folder: source, origin: "folder", manifest: null, error };
}
