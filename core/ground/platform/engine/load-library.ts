import { createRequire } from "node:module";

/** Loads a module in the old form by its absolute path. */
export function loadLibrary(file: string): unknown {
  return createRequire(import.meta.url)(file);
}
