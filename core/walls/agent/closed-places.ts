import { lstat, readdir } from "../../ground/platform/files/files.ts";
import { dirname, isInside, join, sep } from "../../ground/platform/files/paths.ts";
import { userId } from "../../ground/platform/files/pinned-folder.ts";
import { shareCalls } from "../../ground/platform/engine/share-calls.ts";

/** How deep the disk is looked at, and below it the system's settings: what lies deeper has a closed folder above it. */
const depth = 3;
const settings = { folder: "/etc", depth: 8 };

/** Folders that the system makes, that views replace, that hold programs for everybody, or that have a look of their own. */
const passed = new Set([
  "/dev",
  settings.folder,
  "/lib",
  "/lib64",
  "/nix",
  "/proc",
  "/run",
  "/snap",
  "/sys",
  "/tmp",
  "/usr",
  "/var/tmp",
]);

/** Closed files that are hidden one by one; of more, the folder they are in. */
const mostFiles = 16;

/** Entries that one look lists. */
const mostEntries = 20_000;

/** How long a look counts. Milliseconds. */
const freshMs = 60_000;

let last: { since: number; found: readonly string[] } | null = null;

/** One look for all sessions that begin together. */
const look = shareCalls(async () => {
  if (last === null || performance.now() - last.since > freshMs) {
    // A full disk must not use up the look at the settings.
    const found = await Promise.all([closedBelow(settings.folder, settings.depth), closedBelow(sep)]);
    last = { since: performance.now(), found: found.flat() };
  }
  return last.found;
});

/**
 * Finds what an ordinary user could not read, such as `/etc/shadow`: a program of root reads it even without its capabilities. Nothing for
 * other users, from whom the system keeps it.
 * @param needed places of the session: what lies in one, and a folder around one, is not among them
 */
export async function closedPlaces(needed: readonly string[]): Promise<string[]> {
  if (userId() !== 0) return [];
  return (await look()).filter((place) => !needed.some((one) => isInside(place, one) || isInside(one, place)));
}

/** Finds the files that others may not read and the folders that they may not enter. Follows no links. */
export async function closedBelow(top: string, levels: number = depth): Promise<string[]> {
  let entries = 0;
  const walk = async (folder: string, left: number): Promise<string[]> => {
    const listed = await readdir(folder, { withFileTypes: true }).catch(() => []);
    entries += listed.length;
    if (entries > mostEntries) return [];
    const own = await Promise.all(listed.map(async (entry): Promise<{ file?: string; folders?: string[] }> => {
      const path = join(folder, entry.name);
      if (!entry.isFile() && !entry.isDirectory() || passed.has(path)) return {};
      const mode = await lstat(path).then((info) => info.mode, () => null);
      if (mode === null) return {};
      if (entry.isFile()) return (mode & 0o004) === 0 ? { file: path } : {};
      if ((mode & 0o001) === 0) return { folders: [path] };
      return left > 1 ? { folders: await walk(path, left - 1) } : {};
    }));
    const files = own.flatMap(({ file }) => file ?? []);
    const folders = own.flatMap((found) => found.folders ?? []);
    return files.length > mostFiles && dirname(folder) !== folder ? [folder] : [...files, ...folders];
  };
  return await walk(top, levels);
}
