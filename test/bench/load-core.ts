import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** Loads a module of `core/` that has no public name from where it lies. */
export async function loadCore<T>(name: string): Promise<T> {
  const file = "Deno" in globalThis ? `core/${name}.ts` : `dist/core/${name}.js`;
  return await import(pathToFileURL(resolve(file)).href) as T;
}
