import { mkdir, readFile } from "../platform/files/files.ts";
import { sha256Hex } from "../platform/files/hash.ts";
import { whoElseMayChange } from "../platform/files/own-folder.ts";
import { join } from "../platform/files/paths.ts";
import { keepNewest, replaceFile } from "../platform/files/replace-file.ts";
import type { HostManifest } from "./host-manifest.ts";
import { type ManifestPlaces, placesOf, rememberPlaces } from "./host-manifest-places.ts";
import { hostVersion } from "./version.ts";
import type { KeyPath, Position } from "./yaml-problems.ts";

/** Which text is meant. */
interface ManifestText {
  /** Absolute path of the host manifest. */
  file: string;
  text: string;
  /** The state folder: no grant opens it, and what lies there is believed. */
  stateDir: string;
}

/** Position of a value, of its key, and what lies below it. */
type Tree = [value: Position, key: Position, below: Record<string, Tree>];

interface Known {
  key: string;
  manifest: HostManifest;
  value: unknown;
  tree: Tree;
}

/** Of so many files the last text is kept; what was written first goes first. */
const mostKept = 32;

/** Finds a host manifest that has passed every check before, else null. A check loads two large libraries. */
export async function findKnownManifest({ file, text, stateDir }: ManifestText): Promise<HostManifest | null> {
  const [other, kept] = await Promise.all([
    whoElseMayChange(folderIn(stateDir)),
    readFile(keptFile(file, stateDir), "utf8").catch(() => null),
  ]);
  if (kept === null || other !== null) return null;
  let known: Known;
  try {
    known = JSON.parse(kept) as Known;
    if (known.key !== keyOf(file, text)) return null;
  } catch {
    return null;
  }
  const { manifest, value, tree } = known;
  const source = text.startsWith("\ufeff") ? text.slice(1) : text;
  rememberPlaces(manifest, {
    file,
    source,
    value,
    references: new Map(),
    locate: (path, of) => locateIn(tree, path, of),
  });
  return manifest;
}

/** Keeps a host manifest that has just passed every check, unless it refers to the environment. Best effort. */
export async function keepKnownManifest(manifest: HostManifest, { file, text, stateDir }: ManifestText): Promise<void> {
  const places = placesOf(manifest);
  if (places === undefined || places.references.size > 0 || !isPlain(manifest)) return;
  const known: Known = {
    key: keyOf(file, text),
    manifest,
    value: places.value,
    tree: treeOf(places, places.value, []),
  };
  try {
    // The state folder itself is the host's to make.
    await mkdir(folderIn(stateDir), { mode: 0o700 }).catch(() => {});
    if ((await whoElseMayChange(folderIn(stateDir))) !== null) return;
    await replaceFile(keptFile(file, stateDir), JSON.stringify(known));
    await keepNewest(folderIn(stateDir), mostKept);
  } catch {
    // The next command checks it again.
  }
}

function treeOf(places: ManifestPlaces, value: unknown, path: KeyPath): Tree {
  const below = typeof value === "object" && value !== null ? Object.entries(value) : [];
  const isList = Array.isArray(value);
  const children = below.map(([key, inner]): [string, Tree] => {
    const at = [...path, isList ? Number(key) : key];
    return [key, treeOf(places, inner, at)];
  });
  return [places.locate(path, "value"), places.locate(path, "key"), Object.fromEntries(children)];
}

/** As the parser locates: what is missing is where its nearest ancestor is. */
function locateIn(tree: Tree, path: KeyPath, of: "value" | "key" = "value"): Position {
  let [at, , below] = tree;
  for (const [index, part] of path.entries()) {
    const child = Object.hasOwn(below, part) ? below[part] : undefined;
    if (child === undefined) return at;
    if (of === "key" && index === path.length - 1) return child[1];
    [at, , below] = child;
  }
  return at;
}

/** Whether a value survives a JSON round trip. */
function isPlain(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0);
  if (typeof value !== "object" || value === null) return ["string", "boolean", "object"].includes(typeof value);
  if (Array.isArray(value)) return value.every(isPlain);
  const parent: unknown = Object.getPrototypeOf(value);
  return (parent === Object.prototype || parent === null) && Object.values(value).every(isPlain);
}

function folderIn(stateDir: string): string {
  return join(stateDir, "known");
}

function keptFile(file: string, stateDir: string): string {
  return join(folderIn(stateDir), `${sha256Hex(file).slice(0, 32)}.json`);
}

function keyOf(file: string, text: string): string {
  return sha256Hex(JSON.stringify([hostVersion, file, text]));
}
