import { plainText } from "./look-at.ts";
import { allSettings, type Setting } from "./find-repository.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { realpath } from "../../ground/platform/files/files.ts";
import { basename, dirname, isBelow, join, relative, resolve, sep } from "../../ground/platform/files/paths.ts";
import { namedPlaces, parseConfig } from "./private/config-text.ts";
import { maxConfigBytes } from "./private/git-folder.ts";

interface NamedOptions {
  /** Git's folder, where the work tree is a session's own; absent: the one that git finds. */
  commonDir?: string | undefined;
  signal: AbortSignal;
}

/**
 * Paths in a work tree that git takes programs from since its settings say so: all settings, included ones too. Relative
 * to the top, with `/`; nothing may be there.
 * @param top a real absolute path
 */
export async function namedBySettings(top: string, { commonDir, signal }: NamedOptions): Promise<string[]> {
  const found = new Set<string>();
  for (const { file, ...entry } of await settingsOf(top, { commonDir, signal })) {
    if (file === null) continue;
    for (const place of [file, ...namedPlaces([entry], { top, file })]) found.add(place);
    const other = commonDir !== undefined && basename(commonDir) === ".git" ? dirname(commonDir) : null;
    // A session's worktree has its own copy of a file that the repository's settings name.
    if (other !== null && isBelow(other, file)) found.add(resolve(top, relative(other, file)));
  }
  const real = await Promise.all([...found].map((place) => realpath(place).catch(() => place)));
  const inside = [...new Set([...found, ...real])]
    .filter((place) => isBelow(top, place) && !isBelow(join(top, ".git"), place));
  return inside.map((place) => relative(top, place).split(sep).join("/"));
}

/** Every setting of a file. Where git cannot read all, those of the repository's own file: they name the others. */
async function settingsOf(top: string, { commonDir, signal }: NamedOptions): Promise<Setting[]> {
  try {
    return await allSettings({ workdir: top, gitDir: commonDir, signal });
  } catch (error) {
    if (!(error instanceof BulkheadError)) throw error;
    const file = join(commonDir ?? join(top, ".git"), "config");
    return parseConfig(await plainText(file, maxConfigBytes)).map((entry) => ({ file, ...entry }));
  }
}
