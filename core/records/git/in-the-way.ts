import { lstat, readdir } from "../../ground/runtime/files.ts";
import { join } from "../../ground/runtime/paths.ts";
import { pathText, type RawChange } from "./raw-diff.ts";

/** A folder, another entry, or nothing. */
type Kind = "folder" | "entry" | null;

/**
 * Finds what lies on the disk where changes make new files, and is in no tree: an ignored file, or a folder with one.
 * @param top folder that the changes' paths are below
 * @returns the paths of the new files
 */
export async function inTheWay(top: string, changes: readonly RawChange[]): Promise<string[]> {
  const removed = new Set(changes.filter(({ status }) => status === "D").map(({ path }) => pathText(path)));
  const made = changes.filter(({ status }) => status === "A").map(({ path }) => pathText(path));
  const kinds = new Map<string, Promise<Kind>>();
  const kindOf = (path: string): Promise<Kind> => {
    const known = kinds.get(path) ?? lookAt(join(top, path));
    kinds.set(path, known);
    return known;
  };
  const found: string[] = [];
  for (let at = 0; at < made.length; at += atOnce) {
    await Promise.all(
      made.slice(at, at + atOnce).map(async (path) => {
        if (!await isFree(path)) found.push(path);
      }),
    );
  }
  return found.sort();

  async function isFree(path: string): Promise<boolean> {
    for (let end = path.indexOf("/"); end !== -1; end = path.indexOf("/", end + 1)) {
      const folder = path.slice(0, end);
      const kind = await kindOf(folder);
      if (kind !== "folder") return kind === null || removed.has(folder);
    }
    const kind = await lookAt(join(top, path));
    if (kind !== "folder") return kind === null;
    const names = await readdir(join(top, path)).catch(() => []);
    return names.length === 0 || await isEmptied(path);
  }

  /** Whether the changes remove all that is in a folder, so that git removes the folder as well. */
  async function isEmptied(folder: string): Promise<boolean> {
    const entries = await readdir(join(top, folder), { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      const path = `${folder}/${entry.name}`;
      const isGone = entry.isDirectory() ? await isEmptied(path) : removed.has(path);
      if (!isGone) return false;
    }
    return entries.length > 0;
  }
}

/** New files that are looked for concurrently. */
const atOnce = 64;

function lookAt(path: string): Promise<Kind> {
  return lstat(path).then((found) => found.isDirectory() ? "folder" : "entry", () => null);
}
