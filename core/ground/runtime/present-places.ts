import { readdir } from "node:fs/promises";
import { join } from "node:path";

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
