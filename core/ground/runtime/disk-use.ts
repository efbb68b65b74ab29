import { findProgram } from "./os-walls/try-program.ts";
import { runPlainProgram } from "./plain-program.ts";
import { platform } from "./platform.ts";

/** Room that folders take on their disk. */
export interface DiskUse {
  bytes: number;
  /** Files and folders; 0 where the system's `du` does not count them. */
  files: number;
}

/** Folders of one call: its arguments have a most. */
const atOnce = 200;

/**
 * Measures folders by a program of the system, since walking 200,000 files would hold this thread for seconds. A file with
 * several names counts once, and what the folder's owner cannot read not at all. Missing folders are left out.
 */
export async function diskUse(folders: readonly string[]): Promise<ReadonlyMap<string, DiskUse>> {
  const use = new Map<string, DiskUse>();
  const du = folders.length === 0 ? null : await findProgram("du");
  if (du === null) return use;
  for (let from = 0; from < folders.length; from += atOnce) {
    const some = folders.slice(from, from + atOnce);
    const [blocks, files] = await Promise.all([
      sums(du, ["-k"], some),
      platform === "linux" ? sums(du, ["--inodes"], some) : new Map<string, number>(),
    ]);
    for (const [folder, kilobytes] of blocks) {
      use.set(folder, { bytes: kilobytes * 1024, files: files.get(folder) ?? 0 });
    }
  }
  return use;
}

async function sums(du: string, unit: readonly string[], folders: readonly string[]): Promise<Map<string, number>> {
  // A path may hold the end of a line, where rows can end with something else.
  const [ends, end] = platform === "linux" ? [["-0"], "\0"] : [[], "\n"];
  const { stdout } = await runPlainProgram(du, ["-s", "-x", ...unit, ...ends, "--", ...folders]);
  return new Map(
    stdout.split(end).flatMap((row): [string, number][] => {
      const tab = row.indexOf("\t");
      return tab < 0 ? [] : [[row.slice(tab + 1), Number(row.slice(0, tab))]];
    }),
  );
}
