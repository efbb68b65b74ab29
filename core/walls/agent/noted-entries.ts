import type { Stats } from "node:fs";
import { lstat, readdir, readFile, readlink, stat } from "node:fs/promises";
import { join } from "node:path";
import { sha256Hex } from "../../ground/platform/files/hash.ts";

/** An entry of a folder as it was first seen. */
export interface EntryNote {
  path: string;
  dev: number;
  ino: number;
  /** Its place on the disk, its times and its size, as text. */
  state: string;
  isFolder: boolean;
  /** Whether it is a file that has other names. */
  isShared: boolean;
  /** Whether it is a link that names nothing. */
  isDangling: boolean;
  /** Digest of a file, or the text of a link; null for any other entry, and for a large file. */
  content: Promise<string | null>;
}

/** Bytes of a file of which a digest is made. */
const mostBytes = 200_000;

/** Entries that are looked at in one turn. */
const atOnce = 64;

/** Entries of guarded folders that are compared. */
const mostCompared = 2000;

/** Notes an entry; null for one that is missing. @param options.isRead whether its content is noted too */
export async function noteEntry(
  path: string,
  { isDangling = false, isRead = true }: { isDangling?: boolean; isRead?: boolean } = {},
): Promise<EntryNote | null> {
  const info = await lstat(path).catch(() => null);
  if (info === null) return null;
  const hasContent = isRead && (info.isSymbolicLink() || info.isFile() && info.size <= mostBytes);
  return {
    path,
    dev: info.dev,
    ino: info.ino,
    state: stateOf(info),
    isFolder: info.isDirectory(),
    isShared: info.isFile() && info.nlink > 1,
    isDangling,
    content: hasContent ? contentOf(path, info) : Promise.resolve(null),
  };
}

function stateOf({ dev, ino, ctimeMs, mtimeMs, size }: Stats): string {
  return [dev, ino, ctimeMs, mtimeMs, size].join(" ");
}

async function contentOf(path: string, info: Stats): Promise<string | null> {
  const text = info.isSymbolicLink()
    ? await readlink(path).then((target) => `a link to ${JSON.stringify(target)}`, () => null)
    : await readFile(path).then((bytes) => `sha256 ${sha256Hex(bytes)}`, () => null);
  // It may have been changed before it was read.
  const now = await lstat(path).catch(() => null);
  return now !== null && stateOf(now) === stateOf(info) ? text : null;
}

/** Tells in a sentence how an entry has changed; null where it is as it was. */
export async function reasonOf(note: EntryNote): Promise<string | null> {
  const before = await note.content;
  const now = await noteEntry(note.path, { isRead: before !== null });
  if (now === null) return "It was removed while the session ran.";
  if (note.isDangling && await stat(note.path).then(() => true, () => false)) {
    return "It is a link, and what it names was made while the session ran.";
  }
  const after = await now.content;
  if (before === null ? note.state === now.state : before === after) return null;
  const contents = before === null && after === null
    ? ""
    : ` Before: ${before ?? "not known"}. Now: ${after ?? "not known"}.`;
  return `It was changed while the session ran.${contents}`;
}

/** Those entries that changed since a time. */
export async function changedSince(paths: readonly string[], since: number): Promise<string[]> {
  const changed: string[] = [];
  for (let start = 0; start < paths.length; start += atOnce) {
    const some = paths.slice(start, start + atOnce);
    const infos = await Promise.all(some.map((path) => lstat(path).catch(() => null)));
    changed.push(...some.filter((_, index) => isSince(infos[index] ?? null, since)));
  }
  return changed;
}

/**
 * A program cannot set the time of a change as it can that of its content. One of the runtimes tells it in whole seconds: in
 * the first of them the other time decides.
 */
function isSince(info: Stats | null, since: number): boolean {
  if (info === null || info.ctimeMs >= since) return info !== null;
  return info.ctimeMs % 1000 === 0 && info.ctimeMs + 1000 > since && info.mtimeMs >= since;
}

/** Files and links below folders that changed since a time, of the first {@link mostCompared}. */
export async function changedBelow(folders: readonly string[], since: number): Promise<string[]> {
  const found: string[] = [];
  for (let level = [...folders]; level.length > 0 && found.length < mostCompared;) {
    const below: string[] = [];
    for (const folder of level) {
      const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
      below.push(...entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name)));
      found.push(...entries.filter((entry) => !entry.isDirectory()).map(({ name }) => join(folder, name)));
    }
    level = below.slice(0, mostCompared);
  }
  return await changedSince(found.slice(0, mostCompared), since);
}
