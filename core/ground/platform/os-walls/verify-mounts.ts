import { lstat, realpath } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { isInside } from "../files/paths.ts";

/** A mount, in the words of bwrap. */
export interface WordedMount {
  kind: string;
  /** Absent for one that shows no place of the disk. */
  from?: string;
  /** Folder of what is written over it. */
  layer?: string;
  at: string;
}

/** Reads the words of a view, but for its links: bwrap knows no mount that keeps one. */
export function wordedMounts(words: readonly string[]): WordedMount[] {
  const mounts: WordedMount[] = [];
  for (let at = 0; at < words.length;) {
    const kind = words[at]!;
    if (kind === "--overlay") {
      mounts.push({ kind, from: words[at + 1]!, layer: words[at + 2]!, at: words[at + 3]! });
      at += 4;
    } else if (kind.includes("bind")) {
      mounts.push({ kind, from: words[at + 1]!, at: words[at + 2]! });
      at += 3;
    } else {
      if (!kind.endsWith("-link")) mounts.push({ kind, at: words[at + 1]! });
      at += 2;
    }
  }
  return mounts;
}

/**
 * Sees that no link stands on the way to a place that bwrap is about to mount, or to mount something on: bwrap would follow
 * it. What makes views by the kernel's newer calls has the kernel refuse it.
 * @returns the mounts without those of files to hide that have gone since they were seen, such as another program's socket
 * @throws {Error} `ELOOP`
 */
export async function verifyMounts(words: readonly string[]): Promise<WordedMount[]> {
  const mounts = wordedMounts(words);
  const needed = await Promise.all(mounts.map(async (mount, index) => {
    const { from, at } = mount;
    const hides = from === "/dev/null";
    if (from !== undefined && !hides) await refuseLinks(from, from);
    // Where the place lies in one that is mounted before, it is looked for in what that shows.
    const around = mounts.slice(0, index).filter((other) => isInside(other.at, at) && other.kind !== "--remount-ro")
      .sort((a, b) => b.at.length - a.at.length)[0];
    if (around !== undefined && (around.from === undefined || around.from === "/dev/null")) return [mount];
    const place = around === undefined ? at : join(around.from!, relative(around.at, at));
    await refuseLinks(place, at);
    return hides && await isMissing(place) ? [] : [mount];
  }));
  return needed.flat();
}

/** The part of a path that exists must be its own real path; the rest is made. */
async function refuseLinks(path: string, named: string): Promise<void> {
  for (let at = path; at !== dirname(at); at = dirname(at)) {
    const real = await realpath(at).catch((error: NodeJS.ErrnoException) => error.code === "ENOENT" ? null : "");
    if (real === null && !await isLink(at)) continue;
    if (real === at) return;
    throw Object.assign(new Error(`a link stands on the way to ${named}`), { code: "ELOOP", place: named });
  }
}

async function isMissing(path: string): Promise<boolean> {
  return await lstat(path).then(() => false, (error: NodeJS.ErrnoException) => error.code === "ENOENT");
}

/** Whether a path that leads nowhere is a link all the same. */
async function isLink(path: string): Promise<boolean> {
  return await lstat(path).then((info) => info.isSymbolicLink(), () => false);
}
