import { build } from "esbuild";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const onDeno = "Deno" in globalThis;

/** How a script of this folder is run by this runtime as a process of its own. */
export interface Runnable {
  args: string[];
  env: Record<string, string | undefined>;
}

/**
 * Node 20 runs no TypeScript: there it becomes one file in the folder that is given.
 * @param packages whether the packages that it imports are in that file as well
 */
export async function runnable(
  name: string,
  folder: string,
  { packages: whole = false }: { packages?: boolean } = {},
): Promise<Runnable> {
  const entry = fileURLToPath(new URL(name, import.meta.url));
  const packages = join(createRequire(import.meta.url).resolve("libsql"), "../..");
  const env = { ...process.env, NODE_PATH: packages };
  if (onDeno) return { args: ["run", "-A", entry], env };
  const outfile = join(folder, `${basename(name, ".ts")}.mjs`);
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    packages: whole ? "bundle" : "external",
    logLevel: "silent",
  });
  return { args: [outfile], env };
}
