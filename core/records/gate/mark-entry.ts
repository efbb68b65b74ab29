import { lstatSync, readdirSync } from "../../ground/platform/files/files-at-once.ts";
import { sha256HexOf } from "../../ground/platform/files/hash.ts";

/** Entries of a folder that a mark is made of. */
const mostEntries = 500_000;

interface EntryFacts {
  ino: number;
  /** No program can set it; one of the runtimes has it in whole seconds. */
  ctimeMs: number;
  mtimeMs: number;
  size: number;
  mode: number;
}

/** Text that changes with an entry that is no folder. */
export function markOfEntry({ ino, ctimeMs, mtimeMs, size, mode }: EntryFacts): string {
  return `${ino} ${ctimeMs} ${mtimeMs} ${size} ${mode}`;
}

/** Text that changes with an entry, or with anything in a folder, and the number of files there; null where it cannot be read. */
export function markTree(path: string): { mark: string; files: number } | null {
  const lines: string[] = [];
  let files = 0;
  const take = (at: string): void => {
    const facts = lstatSync(at);
    lines.push(`${at.slice(path.length)}\0${markOfEntry(facts)}\n`);
    if (lines.length > mostEntries) throw new RangeError("too many entries");
    if (!facts.isDirectory()) files++;
    else for (const name of readdirSync(at).sort()) take(`${at}/${name}`);
  };
  try {
    take(path);
  } catch {
    return null;
  }
  return { mark: lines.length === 1 && files === 1 ? lines[0]!.slice(1, -1) : sha256HexOf(...lines), files };
}
