import { wait } from "../../ground/platform/engine/wait.ts";
import { readdir, stat } from "../../ground/platform/files/files.ts";
import { join } from "../../ground/platform/files/paths.ts";

/** How often a folder is looked at, in milliseconds. */
const lookMs = 250;
/** Folders that an author does not write by hand. */
const passedOver = new Set(["node_modules", ".git", "dist", "coverage"]);

/** Resolves when a file of a plugin's folder has changed since `known`. Rejects with the signal's reason. */
export async function nextChange(folder: string, known: string, signal: AbortSignal): Promise<string> {
  for (;;) {
    signal.throwIfAborted();
    const now = await lookAt(folder);
    if (now !== known) return now;
    await wait(lookMs, signal);
  }
}

/** All files of a folder with their size and time, as one text. */
export async function lookAt(folder: string): Promise<string> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const parts = entries.filter(({ name }) => !passedOver.has(name)).map(async (entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return `${entry.name}/(${await lookAt(path)})`;
    return await stat(path).then(({ size, mtimeMs }) => `${entry.name}:${size}:${mtimeMs}`, () => entry.name);
  });
  return (await Promise.all(parts)).sort().join(",");
}
