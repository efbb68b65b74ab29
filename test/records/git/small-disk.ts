import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";

/** A file system of its own that is soon full. */
export interface SmallDisk extends Disposable {
  folder: string;
}

/**
 * Mounts a small file system in memory; null, with the reason printed, where the system does not let this user.
 * Dispose of it to unmount it.
 */
export function smallDisk(folder: string, kilobytes: number): SmallDisk | null {
  mkdirSync(folder, { recursive: true });
  return mounted(folder, ["-t", "tmpfs", "-o", `size=${kilobytes}k`, "tmpfs", folder]);
}

/** Makes a folder read-only, for root as well; null as {@link smallDisk}. */
export function boundReadOnly(folder: string): SmallDisk | null {
  return mounted(folder, ["--bind", "-o", "ro", folder, folder]);
}

function mounted(folder: string, args: readonly string[]): SmallDisk | null {
  try {
    execFileSync("mount", args, { stdio: "pipe" });
  } catch (error) {
    console.warn(`No file system can be mounted here: ${error instanceof Error ? error.message : String(error)}`);
    return null;
  }
  return { folder, [Symbol.dispose]: () => execFileSync("umount", ["-l", folder]) };
}
