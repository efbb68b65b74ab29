import { copyWithTime } from "../../../ground/runtime/copy-with-time.ts";
import { constants, copyFile, link, lstat, mkdir, utimes, writeFile } from "../../../ground/runtime/files.ts";
import { dirname, join } from "../../../ground/runtime/paths.ts";
import { readPlainFile } from "../../../ground/runtime/read-plain-file.ts";
import { refused } from "./git-folder.ts";
import { packedRefsText, type Refs } from "./read-refs.ts";

/** Bytes of an index that is copied, and of a file that says what is under way. */
export const maxIndexBytes: number = 512 * 1024 * 1024;
const maxStateBytes = 1_000_000;

/** Makes the folders of a private git folder, and the file that may stand for it. */
export async function makeFolders(place: string): Promise<void> {
  const folders = ["git/objects/info", "git/objects/pack", "git/refs/heads", "git/refs/tags", "git/hooks", "git/info"];
  await Promise.all([...folders, "git/logs/refs", "base"].map((name) => mkdir(join(place, name), { recursive: true })));
  await writeFile(join(place, "dot-git"), `gitdir: ${join(place, "git")}\n`);
}

/** Writes refs twice: for the agent, and as what it began with. */
export async function writeRefs(refs: Refs, { git, base }: { git: string; base: string }): Promise<void> {
  const text = packedRefsText(refs);
  const named = [...refs.symbolic].map(async ([name, target]) => {
    await mkdir(dirname(join(git, name)), { recursive: true });
    await writeFile(join(git, name), `ref: ${target}\n`);
  });
  await Promise.all([writeFile(join(git, "packed-refs"), text), writeFile(join(base, "packed-refs"), text), ...named]);
}

/** Copies the index twice: for the agent, and as what it began with. git trusts times of files as old as the index's. */
export async function copyIndex(gitDir: string, place: string): Promise<void> {
  const from = join(gitDir, "index");
  const info = await lstat(from).catch(() => null);
  if (info === null) return;
  if (!info.isFile() || info.size > maxIndexBytes) throw refused(from, "it is no plain file, or too large");
  const [own, base] = [join(place, "git/index"), join(place, "base/index")];
  // git never writes into an index that is there: a second name of it stays as it is now.
  const held = link(from, base).catch(() => copyWithTime(from, base));
  const seconds = Math.floor(info.mtimeMs) / 1000;
  await Promise.all([copyFile(from, own, constants.COPYFILE_FICLONE).then(() => utimes(own, seconds, seconds)), held]);
}

/** Copies a plain file, if it is there and small. */
export async function copyPlain(from: string, to: string): Promise<void> {
  const bytes = await readPlainFile(from, maxStateBytes);
  if (bytes !== null) await writeFile(to, bytes);
}
