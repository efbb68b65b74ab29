import { lstat } from "../../ground/runtime/files.ts";
import { dirname, join } from "../../ground/runtime/paths.ts";

/**
 * Whether one of the folders that lead from a top to a path below it is a link: what is found there then lies
 * elsewhere, and for git the path is not there.
 */
export async function isBehindLink(top: string, path: string): Promise<boolean> {
  for (let folder = dirname(path); folder !== "."; folder = dirname(folder)) {
    if (await lstat(join(top, folder)).then((found) => found.isSymbolicLink(), () => false)) return true;
  }
  return false;
}
