import { lstat, open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { randomId } from "./hash.ts";
import { tellRefusal } from "../state/write-faults.ts";

/**
 * Writes or replaces a file whole or not at all. The folder must exist.
 * @param mode default: only this user may read it
 */
export async function replaceFile(file: string, content: string | Uint8Array, mode = 0o600): Promise<void> {
  await replace(file, content, { mode, isSynced: true });
}

/** As {@link replaceFile}, for what can be lost with the machine: it does not wait for the disk. */
export async function swapFile(file: string, content: string | Uint8Array): Promise<void> {
  await replace(file, content, { mode: 0o600, isSynced: false });
}

async function replace(
  file: string,
  content: string | Uint8Array,
  { mode, isSynced }: { mode: number; isSynced: boolean },
): Promise<void> {
  const draft = `${file}.${randomId()}.tmp`;
  try {
    const opened = await open(draft, "wx", mode);
    try {
      await opened.writeFile(content);
      if (isSynced) await opened.sync();
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

/** Removes the files of a folder but those that were written last. */
export async function keepNewest(folder: string, most: number): Promise<void> {
  const names = await readdir(folder);
  if (names.length <= most) return;
  const aged = await Promise.all(names.map(async (name) => {
    const file = join(folder, name);
    return { file, at: await lstat(file).then(({ mtimeMs }) => mtimeMs, () => 0) };
  }));
  await Promise.all(aged.sort((a, b) => b.at - a.at).slice(most).map(({ file }) => rm(file, { force: true })));
}
