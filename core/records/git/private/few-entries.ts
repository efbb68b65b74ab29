import { type Dirent, opendir } from "../../../ground/platform/files/files.ts";

/** The entries of a folder that an agent owns, up to a number. Empty for what is no folder. */
export async function fewEntries(folder: string, most: number): Promise<Dirent[]> {
  const entries: Dirent[] = [];
  try {
    const opened = await opendir(folder);
    for await (const entry of opened) {
      if (entries.push(entry) >= most) break;
    }
  } catch {
    // It is gone, or closed.
  }
  return entries;
}

/** Does something with each of many, a few at a time: a host has only so many open files. */
export async function fewAtOnce<T>(all: readonly T[], act: (one: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < all.length; at += atOnce) await Promise.all(all.slice(at, at + atOnce).map(act));
}

const atOnce = 32;
