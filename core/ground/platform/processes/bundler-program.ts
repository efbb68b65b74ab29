import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import process from "node:process";

/** Location of the installed esbuild. Absolute paths. */
interface BundlerProgram {
  /** Its library, a CommonJS module. */
  library: string;
  /** Its program for this system, which the library starts. */
  program: string;
}

/** Finds esbuild without loading it; null when it is not installed, or not for this system. */
export function findBundlerProgram(): BundlerProgram | null {
  try {
    const library = createRequire(import.meta.url).resolve("esbuild");
    const own = createRequire(library);
    const windows = process.platform === "win32";
    const name = `@esbuild/${process.platform}-${process.arch}/${windows ? "esbuild.exe" : "bin/esbuild"}`;
    return { library, program: resolved(own, name) ?? existing(join(dirname(library), "../bin/esbuild")) };
  } catch {
    return null;
  }
}

function resolved(require: NodeJS.Require, name: string): string | null {
  try {
    return require.resolve(name);
  } catch {
    return null;
  }
}

/** @throws where there is none */
function existing(file: string): string {
  if (!existsSync(file)) throw new Error(`There is no ${file}.`);
  return file;
}
