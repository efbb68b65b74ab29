import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { keyPatterns, keyPlaces } from "./key-places.ts";
import { presentPlaces } from "./present-places.ts";

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
