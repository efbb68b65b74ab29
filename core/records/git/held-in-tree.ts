import type { HeldChange } from "../../../plugin-sdk/held.ts";
import { groupedBy } from "../gate/held-item.ts";
import {
  asGitSettings,
  asLinkOut,
  asRepository,
  isBesideRepository,
  isOfRepository,
  judgePath,
  looksLikeRepository,
  type Reason,
} from "../gate/judge.ts";
import { wayOfLink } from "../gate/leads-out.ts";
import { indexLine, joinNul, pathKey } from "./git-call.ts";
import { namedBySettings } from "./named-by-settings.ts";
import { eachEntry, type GitEntry, pathText, type RawChange, rawChanges } from "./raw-diff.ts";
import { gitInShadow, type ShadowCall, type ShadowRepository, topOf, treeOfIndex } from "./shadow-repository.ts";

/** A held change of a tree, with the paths that it stands for. */
export interface TreeHeld {
  change: HeldChange;
  paths: Uint8Array[];
}

/** Whether all that a held change stands for lies at or below one of some paths. */
export function isAmong({ paths }: TreeHeld, chosen: readonly string[]): boolean {
  return paths.map(pathText).every((path) => chosen.some((one) => path === one || path.startsWith(`${one}/`)));
}

/** Two trees, and a call that names an index of its own. */
interface Trees {
  before: string;
  after: string;
  call: ShadowCall;
}

const linkMode = "120000";
const pointerMode = "160000";

/**
 * Finds which changes from one tree to another are held, by the same rules as those in a folder. What is deleted starts
 * nothing, and pointers to repositories are never applied.
 * @throws {BulkheadError} `io_error`
 */
export async function heldInTree(shadow: ShadowRepository, trees: Trees): Promise<TreeHeld[]> {
  const changes = (await rawChanges(shadow, { from: trees.before, to: trees.after, call: trees.call }))
    .filter(({ status, newMode }) => status !== "D" && newMode !== pointerMode);
  const mayBeRepository = changes.some(({ path }) => pathText(path).split("/").some(isOfRepository));
  const hasLinks = changes.some(({ newMode, oldMode }) => newMode === linkMode || oldMode === linkMode);
  const places = changes.length === 0 ? [] : await namedIn(shadow, trees.call);
  const named = changes.flatMap((change) => {
    const path = pathText(change.path);
    const type = change.newMode === linkMode ? "link" : "file";
    const found = judgePath(path, { type }) ?? namedBy(path, { type, places });
    return found === null ? [] : [{ change, path, ...found, target: undefined }];
  });
  if (named.length === 0 && !mayBeRepository && !hasLinks) return [];
  const entries = await entriesOf(shadow, trees.after, trees.call);
  const known = new Set(named.map(({ path }) => path));
  const others = [
    ...(mayBeRepository
      ? ofRepositories(changes, { entries, old: await entriesOf(shadow, trees.before, trees.call) })
      : []),
    ...(hasLinks ? await linksOut(changes, { shadow, entries, call: trees.call }) : []),
  ];
  return itemsOf([...named, ...others.filter(({ path }) => !known.has(path))], entries);
}

/** Places in the tree that git takes programs from since the repository's settings name them. */
async function namedIn(shadow: ShadowRepository, { signal }: ShadowCall): Promise<string[]> {
  const { repository } = shadow;
  return repository === null ? [] : await namedBySettings(topOf(shadow), { commonDir: repository.commonDir, signal });
}

/** A link on the way to such a place puts something else there. */
function namedBy(
  path: string,
  { type, places }: { type: "file" | "link"; places: readonly string[] },
): { root: string; reason: Reason } | null {
  if (type === "link" && places.some((place) => place.startsWith(`${path}/`))) {
    return { root: path, reason: asGitSettings };
  }
  const root = places.find((place) => path === place || path.startsWith(`${place}/`));
  return root === undefined ? null : { root, reason: asGitSettings };
}

interface Held {
  change: RawChange;
  path: string;
  root: string;
  reason: Reason;
  target: string | undefined;
}

/** Changes that make a repository of the folder that they are in, or are settings of one. */
function ofRepositories(
  changes: readonly RawChange[],
  { entries, old }: { entries: readonly GitEntry[]; old: readonly GitEntry[] },
): Held[] {
  // Folders of such names that were there before hold data, whether they are a repository's or not.
  const known = new Set(old.flatMap(({ path }) => {
    const parts = pathText(path).split("/");
    return parts.slice(0, -1).map((_, index) => parts.slice(0, index + 1).join("/"));
  }));
  const names = new Map<string, Set<string>>();
  for (const { path } of entries) {
    const parts = pathText(path).split("/");
    for (const [index, part] of parts.entries()) {
      if (!isOfRepository(part)) continue;
      const folder = parts.slice(0, index).join("/");
      names.set(folder, (names.get(folder) ?? new Set()).add(part));
    }
  }
  const folders = new Set([...names].filter(([, found]) => looksLikeRepository(found)).map(([folder]) => folder));
  return changes.flatMap((change) => {
    const path = pathText(change.path);
    const parts = path.split("/");
    const at = parts.findIndex((part, index) => isOfRepository(part) && folders.has(parts.slice(0, index).join("/")));
    if (at === -1) return [];
    const root = parts.slice(0, at + 1).join("/");
    if (known.has(root) && !isBesideRepository(parts[at]!)) return [];
    return [{ change, path, root, reason: asRepository, target: undefined }];
  });
}

/** Changed links that lead out, or through which an unchanged one does. */
async function linksOut(
  changes: readonly RawChange[],
  { shadow, entries, call }: { shadow: ShadowRepository; entries: readonly GitEntry[]; call: ShadowCall },
): Promise<Held[]> {
  const links = new Map<string, string>();
  for (const { mode, id, path } of entries) {
    if (mode === linkMode) links.set(pathText(path), pathText(await blobOf(shadow, id, call)));
  }
  const changed = new Map(changes.map((change) => [pathText(change.path), change]));
  const out = new Map<string, RawChange>();
  for (const path of links.keys()) {
    const { isOut, via } = wayOfLink(path, links);
    const own = changed.get(path);
    const through = via.flatMap((one) => changed.get(one) ?? []).at(-1);
    const found = own ?? through;
    if (isOut && found !== undefined) out.set(pathText(found.path), found);
  }
  return [...out].map(([path, change]) => ({ change, path, root: path, reason: asLinkOut, target: links.get(path) }));
}

function blobOf(shadow: ShadowRepository, id: string, call: ShadowCall): Promise<Uint8Array> {
  return gitInShadow(shadow, ["cat-file", "blob", id], { ...call, cwd: topOf(shadow) });
}

async function entriesOf(shadow: ShadowRepository, tree: string, call: ShadowCall): Promise<GitEntry[]> {
  const entries: GitEntry[] = [];
  const take = (entry: GitEntry) => entries.push({ ...entry, path: entry.path.slice() });
  await eachEntry(shadow, { ...call, cwd: topOf(shadow), tree }, take);
  return entries;
}

/** One item for each path; one for a guarded folder in which all is new. */
function itemsOf(held: readonly Held[], entries: readonly GitEntry[]): TreeHeld[] {
  const items: TreeHeld[] = [];
  for (const [root, group] of groupedBy(held, (one) => one.root)) {
    const isWhole = group.every(({ change, path }) => change.status === "A" && path !== root) &&
      entries.filter(({ path }) => pathText(path).startsWith(`${root}/`)).length === group.length;
    if (isWhole) {
      const change: HeldChange = { path: root, change: "new", ...group[0]!.reason, files: group.length };
      items.push({ change, paths: group.map((one) => one.change.path) });
      continue;
    }
    for (const { change, path, reason, target } of group) {
      items.push({
        change: {
          path,
          change: change.status === "A" ? "new" : "changed",
          ...reason,
          ...(target === undefined ? {} : { target }),
        },
        paths: [change.path],
      });
    }
  }
  return items.sort((a, b) => a.change.path < b.change.path ? -1 : 1);
}

/**
 * The later of two trees without some of its changes: their paths are as in the earlier one.
 * @throws {BulkheadError} `io_error`
 */
export async function treeWithout(
  shadow: ShadowRepository,
  { before, after, call, paths }: Trees & { paths: readonly Uint8Array[] },
): Promise<string> {
  if (paths.length === 0) return after;
  const atTop = { ...call, cwd: topOf(shadow) };
  const keys = new Set(paths.map(pathKey));
  // A link may have taken the place of a folder.
  const isOf = (key: string) => keys.has(key) || [...key].some((one, at) => one === "/" && keys.has(key.slice(0, at)));
  const old = (await entriesOf(shadow, before, call)).filter(({ path }) => isOf(pathKey(path)));
  await gitInShadow(shadow, ["read-tree", after], atTop);
  const gone = paths.map((path) => indexLine(`0 ${"0".repeat(before.length)}`, path));
  const back = old.map(({ mode, id, path }) => indexLine(`${mode} ${id} 0`, path));
  await gitInShadow(shadow, ["update-index", "-z", "--index-info"], { ...atTop, stdin: joinNul([...gone, ...back]) });
  return await treeOfIndex(shadow, atTop);
}
