import { readFile } from "node:fs/promises";
import { isInside } from "./paths.ts";

/**
 * A place at or below a folder on which something is mounted; null where there is none, and where the system does not
 * list its mounts as a file (proc_pid_mountinfo(5)). Real absolute path.
 */
export async function mountedInside(folder: string): Promise<string | null> {
  const table = await readFile("/proc/self/mountinfo", "utf8").catch(() => "");
  const points = table.split("\n").flatMap((row) => row.split(" ")[4]?.replaceAll(/\\([0-7]{3})/g, unescape) ?? []);
  return points.find((point) => isInside(folder, point)) ?? null;
}

function unescape(_: string, octal: string): string {
  return String.fromCharCode(Number.parseInt(octal, 8));
}
