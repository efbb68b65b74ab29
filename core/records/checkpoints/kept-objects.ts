import { lstat, readdir, rm } from "../../ground/platform/files/files.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { removeTree } from "../../ground/platform/files/remove-tree.ts";
import { runGit } from "../../ground/platform/processes/git-program.ts";
import { pointer } from "../git/private/index-entries.ts";
import { lineOf, linesIn } from "../git/git-call.ts";
import { eachEntry, pathText } from "../git/raw-diff.ts";
import { gitInShadow, type ShadowCall, type ShadowRepository, shadowRun } from "../git/shadow-repository.ts";
import type { BlobChange } from "./blob-changes.ts";

/** Ids of the contents that changes are from and to. */
export function blobsOf(changes: readonly Pick<BlobChange, "old" | "new">[]): Set<string> {
  const ids = new Set<string>();
  for (const { old, new: now } of changes) {
    for (const entry of [old, now]) if (entry !== null && entry.mode !== pointer) ids.add(entry.id);
  }
  return ids;
}

/**
 * Finds which of these objects are nowhere.
 * @throws {BulkheadError} `io_error`
 */
export async function missingObjects(
  shadow: ShadowRepository,
  { ids, call }: { ids: Iterable<string>; call: ShadowCall },
): Promise<Set<string>> {
  const stdin = linesIn([...ids]);
  if (stdin.length === 0) return new Set();
  const answer = await gitInShadow(shadow, ["cat-file", "--batch-check", "--buffer"], { ...call, stdin });
  return new Set(
    pathText(answer).split("\n").filter((line) => line.endsWith(" missing")).map((line) =>
      line.slice(0, line.indexOf(" "))
    ),
  );
}

interface KeptObjects {
  /** Ids that are nowhere, and so are in no pack. */
  missing: Set<string>;
  /** Name of the pack; null where there was nothing to put into one. */
  pack: string | null;
}

/**
 * Puts objects into a pack of the store, those included that it only borrowed until now.
 * @throws {BulkheadError} `io_error`
 */
export async function keepObjects(
  shadow: ShadowRepository,
  { ids, call, isLocal = false }: { ids: ReadonlySet<string>; call: ShadowCall; isLocal?: boolean },
): Promise<KeptObjects> {
  // Most often nothing is missing: to ask first would take a run of git more.
  const packed = await packOf(shadow, { ids, call, isLocal }).catch(() => undefined);
  if (packed !== undefined) return { missing: new Set(), pack: packed };
  const missing = await missingObjects(shadow, { ids, call });
  const there = new Set([...ids].filter((id) => !missing.has(id)));
  return { missing, pack: await packOf(shadow, { ids: there, call, isLocal }) };
}

async function packOf(
  shadow: ShadowRepository,
  { ids, call, isLocal }: { ids: ReadonlySet<string>; call: ShadowCall; isLocal: boolean },
): Promise<string | null> {
  if (ids.size === 0) return null;
  const args = [
    "pack-objects",
    "-q",
    "--non-empty",
    "--compression=1",
    // Without names, to look for what is alike among many takes long and finds little.
    ...(ids.size > mostCompared ? ["--window=0"] : []),
    ...(isLocal ? ["--local"] : []),
    join(packsOf(shadow), "pack"),
  ];
  const name = lineOf(await gitInShadow(shadow, args, { ...call, stdin: linesIn([...ids]) }));
  return name === "" ? null : `pack-${name}`;
}

const mostCompared = 2000;

function packsOf({ folder }: ShadowRepository): string {
  return join(folder, "objects/pack");
}

/** Names of the store's packs, and the bytes that they take. */
interface PacksSize {
  names: string[];
  bytes: number;
}

/** Looks at the packs of a store. */
export async function packsIn(shadow: ShadowRepository): Promise<PacksSize> {
  const names = (await readdir(packsOf(shadow)).catch(() => [])).filter((name) => name.endsWith(".pack"));
  const found = await Promise.all(names.map((name) => lstat(join(packsOf(shadow), name)).catch(() => null)));
  return {
    names: names.map((name) => name.slice(0, -".pack".length)),
    bytes: found.reduce((sum, one) => sum + (one?.size ?? 0), 0),
  };
}

/** Removes packs whose objects are elsewhere in the store. */
export async function dropPacks(shadow: ShadowRepository, names: readonly string[]): Promise<void> {
  for (const name of names) {
    // Without its index git does not look at a pack: first away, so that a kill leaves no index without a pack.
    for (const end of [".idx", ".rev", ".pack"]) await rm(join(packsOf(shadow), `${name}${end}`), { force: true });
  }
}

/**
 * Writes the store again, with these objects and what its index has of its own, and removes the rest.
 * @throws {BulkheadError} `io_error`; what was there is then still there
 */
export async function rewriteObjects(
  shadow: ShadowRepository,
  { ids, call }: { ids: ReadonlySet<string>; call: ShadowCall },
): Promise<void> {
  const ofIndex = new Set<string>();
  await eachEntry(shadow, call, ({ mode, id }) => {
    if (mode !== pointer) ofIndex.add(id);
  });
  const kept = [
    await keepObjects(shadow, { ids, call }),
    await keepObjects(shadow, { ids: ofIndex, call, isLocal: true }),
  ].map(({ pack }) => pack);
  await dropPacks(shadow, (await packsIn(shadow)).names.filter((name) => !kept.includes(name)));
  const loose = (await readdir(join(shadow.folder, "objects"))).filter((name) => /^[0-9a-f]{2}$/.test(name));
  await Promise.all(loose.map((name) => removeTree(join(shadow.folder, "objects", name))));
}

/** Names of the packs that have come since. */
export async function newSince(shadow: ShadowRepository, names: readonly string[]): Promise<string[]> {
  const known = new Set(names);
  return (await packsIn(shadow)).names.filter((name) => !known.has(name));
}

/**
 * Checks the packs of a store against their own digests.
 * @returns whether all objects are as they were written
 */
export async function packsAreWhole(shadow: ShadowRepository, call: ShadowCall): Promise<boolean> {
  const { names } = await packsIn(shadow);
  for (const name of names) {
    const args = ["verify-pack", join(packsOf(shadow), `${name}.idx`)];
    const { exit_code } = await runGit(args, shadowRun(shadow, call));
    if (exit_code !== 0) return false;
  }
  return true;
}
