import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, copyFile, mkdir, mkdtemp, readFile, rename, rm, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";

const pinned = join(process.cwd(), "test/bench/peers/programs");

/**
 * Installs the peers, as their lock file pins them, outside the checkout, and returns their folder.
 * @throws {Error} when the registry cannot be reached
 */
export async function installPeers(): Promise<string> {
  const lock = await readFile(join(pinned, "package-lock.json"));
  const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  // A folder for each lock, so that no old version is ever taken.
  const folder = join(cache, "bulkhead-bench-peers", createHash("sha256").update(lock).digest("hex").slice(0, 16));
  if (!await isThere(folder)) await install(folder);
  return folder;
}

/** Installs beside the place and moves it there when it is whole. */
async function install(folder: string): Promise<void> {
  await mkdir(dirname(folder), { recursive: true });
  const draft = await mkdtemp(`${folder}.`);
  try {
    for (const name of ["package.json", "package-lock.json"]) await copyFile(join(pinned, name), join(draft, name));
    const flags = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    await promisify(execFile)("npm", ["install", ...flags], { cwd: draft, maxBuffer: 16 * 1024 * 1024 });
    await chmod(join(draft, "node_modules/@sandbox-agent/cli-linux-x64/bin/sandbox-agent"), 0o755);
    await rename(draft, folder).catch(async (error: unknown) => {
      // Another run was first.
      if (!await isThere(folder)) throw error;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function isThere(folder: string): Promise<boolean> {
  return await stat(folder).then((found) => found.isDirectory(), () => false);
}
