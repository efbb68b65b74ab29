import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { keyPatterns, keyPlaces } from "./key-places.ts";

/**
 * Paths of keys, tokens, input histories and browsers' profiles in a person's homes, of those that may be there.
 * @param others more places below a home
 */
export async function keyPaths(homes: readonly string[], others: readonly string[] = []): Promise<string[]> {
  const found = homes.map((home) =>
    Promise.all([presentPlaces(home, [...keyPlaces, ...keyPatterns, ...others]), browsers(home)])
  );
  return (await Promise.all(found)).flat(2);
}

/** Profiles of browsers, with what people are logged in to. */
async function browsers(home: string): Promise<string[]> {
  const settings = await readdir(join(home, ".config")).catch(() => []);
  return settings.filter((name) => /chrom|brave|vivaldi|opera|edge/i.test(name)).map((name) =>
    join(home, ".config", name)
  );
}

/**
 * Those of some places below a folder that may be there. Tables of places have a hundred rows, of which a machine has ten:
 * each folder on the way is listed once. A segment `*` stands for every entry, and a closed folder counts as holding all.
 * @param places relative paths with `/`
 */
export async function presentPlaces(folder: string, places: readonly string[]): Promise<string[]> {
  if (places.length === 0) return [];
  const names = await namesIn(folder);
  if (names === null) return places.filter((place) => !place.includes("*")).map((place) => join(folder, place));
  const below = new Map<string, string[]>();
  const found: string[] = [];
  for (const place of places) {
    const [first = "", ...rest] = place.split("/");
    for (const name of first === "*" ? names : names.has(first) ? [first] : []) {
      if (rest.length === 0) found.push(join(folder, name));
      else below.set(name, [...below.get(name) ?? [], rest.join("/")]);
    }
  }
  const deeper = await Promise.all([...below].map(([name, rest]) => presentPlaces(join(folder, name), rest)));
  return [...found, ...deeper.flat()];
}

/** Null for a folder that may not be listed. */
async function namesIn(folder: string): Promise<ReadonlySet<string> | null> {
  return await readdir(folder).then((names) => new Set(names), (error: NodeJS.ErrnoException) => {
    return error.code === "EACCES" || error.code === "EPERM" ? null : new Set<string>();
  });
}
