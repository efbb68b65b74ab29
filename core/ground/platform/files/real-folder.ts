import { realpath, stat } from "node:fs/promises";
import process from "node:process";
import { runtimeName } from "../engine/platform.ts";

/** The real path of a folder; null when there is none of this path. */
export async function realFolder(path: string): Promise<string | null> {
  try {
    // With a point behind it only a folder has a real path, which saves asking the system twice.
    if (runtimeName === "node" && process.platform !== "win32") return await realpath(`${path}/.`);
    const [real, info] = await Promise.all([realpath(path), stat(path)]);
    return info.isDirectory() ? real : null;
  } catch {
    return null;
  }
}
