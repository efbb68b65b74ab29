import { open, rename, rm } from "node:fs/promises";
import { randomId } from "./hash.ts";
import { tellRefusal } from "../state/write-faults.ts";

/**
 * Writes or replaces a file whole or not at all. The folder must exist.
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
