import { link, mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** Folder of this run that holds the scripts made of the plugins in `plugins/`. */
    scripts: string;
  }
}

const plugins = fileURLToPath(new URL("../plugins/", import.meta.url));

/**
 * Gives a state folder the scripts that earlier hosts of this run made of the plugins in `plugins/`: to make one takes
 * longer than most sessions. The host takes a kept script only if all it was made of is the same by its bytes, so a
 * changed source is bundled again. Plugins that a test writes are always bundled.
 */
export async function lendScripts(stateDir: string): Promise<void> {
  const names = await readdir(inject("scripts"));
  if (names.length === 0) return;
  const folder = join(stateDir, "scripts");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await linkAll(names, inject("scripts"), folder);
}

/** Keeps, for later hosts of this run, the scripts that a host made of the plugins in `plugins/`. */
export async function collectScripts(stateDir: string): Promise<void> {
  const folder = join(stateDir, "scripts");
  const [made, known] = await Promise.all([readdir(folder).catch(() => []), readdir(inject("scripts"))]);
  const fresh = made.filter((name) => /^[0-9a-f]{64}$/.test(name) && !known.includes(name));
  const ours = await Promise.all(fresh.map(async (name) => await isOurs(join(folder, name)) ? [name] : []));
  await linkAll(ours.flat(), folder, inject("scripts"));
}

/** The plugins that tests write lie in folders of their own, which no later host sees. */
async function isOurs(file: string): Promise<boolean> {
  const text = await readFile(file, "utf8").catch(() => "\n");
  return text.slice(0, text.indexOf("\n")).includes(JSON.stringify(`"folder":"${plugins}`).slice(1, -1));
}

/** A script's file is replaced, never written to, so hosts may have it in common. */
async function linkAll(names: readonly string[], from: string, to: string): Promise<void> {
  await Promise.all(names.map((name) => link(join(from, name), join(to, name)).catch(unlessThereOrGone)));
}

/** Another host was quicker, or dropped what it no longer needs, or its state lies on a disk of its own. */
function unlessThereOrGone(error: NodeJS.ErrnoException): void {
  if (!["EEXIST", "ENOENT", "EXDEV"].includes(error.code ?? "")) throw error;
}
