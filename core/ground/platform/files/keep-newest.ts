import { lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

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
