import { open, rename, rm } from "node:fs/promises";
import { randomId } from "./hash.ts";
import { tellRefusal } from "./write-faults.ts";

/**
 * Writes a file of its own, in place of one that is there, all of it or nothing. The folder must exist.
 * @param mode default: only this user may read it
 */
export async function replaceFile(file: string, text: string, mode = 0o600): Promise<void> {
  const draft = `${file}.${randomId()}.tmp`;
  try {
    const opened = await open(draft, "wx", mode);
    try {
      await opened.writeFile(text);
      await opened.sync();
    } finally {
      await opened.close();
    }
    await rename(draft, file);
  } catch (error) {
    tellRefusal(file, error);
    await rm(draft, { force: true }).catch(() => undefined);
    throw error;
  }
}
