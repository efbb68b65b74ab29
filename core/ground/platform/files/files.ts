import * as system from "node:fs/promises";
import { tellRefusal } from "../state/write-faults.ts";

export {
  access,
  chmod,
  lstat,
  mkdtemp,
  opendir,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  rmdir,
  stat,
  unlink,
  utimes,
} from "node:fs/promises";
export { constants, type Dirent } from "node:fs";

/** As the system's; reports a refusal. */
export const appendFile: typeof system.appendFile = telling(system.appendFile, 0);
/** As the system's; reports a refusal. */
export const copyFile: typeof system.copyFile = telling(system.copyFile, 1);
/** As the system's; reports a refusal. */
export const link: typeof system.link = telling(system.link, 1);
/** As the system's; reports a refusal. */
export const mkdir: typeof system.mkdir = telling(system.mkdir, 0);
/** As the system's; reports a refusal. */
export const open: typeof system.open = telling(system.open, 0);
/** As the system's; reports a refusal. */
export const rename: typeof system.rename = telling(system.rename, 1);
/** As the system's; reports a refusal. */
export const symlink: typeof system.symlink = telling(system.symlink, 1);
/** As the system's; reports a refusal. */
export const writeFile: typeof system.writeFile = telling(system.writeFile, 0);

/** @param at which argument is the path that is written */
function telling<F extends (...given: never[]) => Promise<unknown>>(act: F, at: number): F {
  const told = async (...given: Parameters<F>): Promise<unknown> => {
    try {
      return await act(...given);
    } catch (error) {
      tellRefusal(given[at], error);
      throw error;
    }
  };
  return told as F;
}
