import type { GitChange } from "../../../../plugin-sdk/git-changes.ts";
import { digestFile } from "../../../ground/runtime/file-digest.ts";
import { copyFile, lstat, mkdir, rename, rm } from "../../../ground/runtime/files.ts";
import { randomId } from "../../../ground/runtime/hash.ts";
import { dirname, join } from "../../../ground/runtime/paths.ts";
import { fewEntries } from "./few-entries.ts";
import type { PrivateRepository } from "./private-record.ts";

/** Files of git-lfs that are taken over, and bytes of each. */
const mostFiles = 2000;
const maxBytes = 4 * 1024 * 1024 * 1024;

/** Copies what git-lfs stored into the repository's own store, each file under the digest that it really has. */
export async function largeFilesOf({ common_dir }: PrivateRepository, place: string): Promise<GitChange[]> {
  const from = join(place, "git/lfs/objects");
  const names = await namesIn(from);
  let left = Math.max(0, names.length - mostFiles);
  for (const name of names.slice(0, mostFiles)) {
    const path = join(from, name.slice(0, 2), name.slice(2, 4), name);
    const to = join(common_dir, "lfs/objects", name.slice(0, 2), name.slice(2, 4), name);
    if (await lstat(to).then(() => true, () => false)) continue;
    if (!(await put(path, { to, sha256: name }))) left++;
  }
  const reason = "files of git-lfs were not what their names say, or too many";
  return left === 0 ? [] : [{ name: "lfs", outcome: "left", reason: `${left} ${reason}` }];
}

/** The copy is what is checked: the file itself may still change. */
async function put(from: string, { to, sha256 }: { to: string; sha256: string }): Promise<boolean> {
  const info = await lstat(from).catch(() => null);
  if (info === null || !info.isFile() || info.size > maxBytes) return false;
  const draft = `${to}.${randomId()}.tmp`;
  await mkdir(dirname(to), { recursive: true });
  await copyFile(from, draft);
  if ((await digestFile(draft, { maxBytes }))?.sha256 === sha256) await rename(draft, to);
  else await rm(draft, { force: true });
  return await lstat(to).then(() => true, () => false);
}

async function namesIn(folder: string): Promise<string[]> {
  const names: string[] = [];
  for (const first of await foldersIn(folder)) {
    for (const second of await foldersIn(first)) {
      for (const { name } of await fewEntries(second, mostFiles)) {
        if (/^[0-9a-f]{64}$/.test(name) && second === join(folder, name.slice(0, 2), name.slice(2, 4))) {
          names.push(name);
        }
      }
    }
  }
  return names;
}

async function foldersIn(folder: string): Promise<string[]> {
  const entries = await fewEntries(folder, mostFiles);
  return entries.filter((entry) => entry.isDirectory() && /^[0-9a-f]{2}$/.test(entry.name)).map(({ name }) =>
    join(folder, name)
  );
}
