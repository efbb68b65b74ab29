import { lstat, realpath } from "../../ground/runtime/files.ts";
import { readPlainText } from "../../ground/runtime/plain-file.ts";
import { basename, dirname, isBelow, join, resolve } from "../../ground/runtime/paths.ts";

/** Bytes of a file of git that names a place, and of its settings. */
const maxNameBytes = 8192;
const maxSettingsBytes = 262_144;

/**
 * Git's folder of the repository that a folder lies in, where it stands above it or elsewhere, and the `.git` file that
 * names it. An agent can write such a file, so that its text alone shows nothing: the place must look like git's folder and name
 * this project back.
 */
export async function repositoryOf(folder: string): Promise<string[]> {
  for (let at = folder; at !== dirname(at); at = dirname(at)) {
    const git = join(at, ".git");
    const info = await lstat(git).catch(() => null);
    if (info?.isDirectory()) return [git];
    if (info?.isFile()) return await namedBy(git);
    // A link counts as no repository: any agent that may write here could make it.
    if (info !== null) return [];
  }
  return [];
}

async function namedBy(file: string): Promise<string[]> {
  const text = await readPlainText(file, { maxBytes: maxNameBytes });
  const [, place] = /^gitdir: (.+)$/m.exec(text ?? "") ?? [];
  if (place === undefined) return [];
  const named = await realpath(resolve(dirname(file), place)).catch(() => null);
  if (named === null) return [];
  const shown = await ofWorktree(named, file) ?? await ofSubmodule(named, file);
  return shown === null ? [] : [file, shown];
}

/** The repository's folder, for the folder in it of a worktree that this file belongs to. */
async function ofWorktree(named: string, file: string): Promise<string | null> {
  const common = dirname(dirname(named));
  if (basename(dirname(named)) !== "worktrees" || !await isGitFolder(common)) return null;
  const back = (await readPlainText(join(named, "gitdir"), { maxBytes: maxNameBytes }))?.trim();
  return back !== undefined && await realpath(resolve(named, back)).catch(() => null) === file ? common : null;
}

/** A submodule's own folder in that of the repository around it. */
async function ofSubmodule(named: string, file: string): Promise<string | null> {
  const [, around] = /^(.+)\/\.git(?:\/worktrees\/[^/]+)?\/modules\/.+$/.exec(named) ?? [];
  if (around === undefined || !await isGitFolder(named)) return null;
  if (!isBelow(around, file) && !/\/\.git\/worktrees\//.test(named)) return null;
  const settings = await readPlainText(join(named, "config"), { maxBytes: maxSettingsBytes });
  const [, back] = /^\s*worktree\s*=\s*"?([^"\n]+?)"?\s*$/m.exec(settings ?? "") ?? [];
  return back !== undefined && await realpath(resolve(named, back)).catch(() => null) === dirname(file) ? named : null;
}

/** Whether a folder is laid out as git's own, none of it by links. */
async function isGitFolder(folder: string): Promise<boolean> {
  const [head, objects, refs] = await Promise.all(
    ["HEAD", "objects", "refs"].map((name) => lstat(join(folder, name)).catch(() => null)),
  );
  return head?.isFile() === true && objects?.isDirectory() === true && refs?.isDirectory() === true;
}
