import { readFile } from "node:fs/promises";

/** Text of a file that describes this machine, such as a setting below `/proc/sys`; null where there is none. */
export function readKernelFile(file: string): Promise<string | null> {
  return readFile(file, "utf8").catch(() => null);
}
