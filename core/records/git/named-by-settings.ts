import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { realpath } from "../../ground/runtime/files.ts";
import { basename, dirname, isBelow, join, relative, resolve, sep } from "../../ground/runtime/paths.ts";
import { readPlainFile } from "../../ground/runtime/read-plain-file.ts";
import { readingEnv } from "./find-repository.ts";
import { eachRecord, gitError } from "./git-call.ts";
import { type ConfigEntry, namedPlaces, parseConfig } from "./private/config-text.ts";
import { maxConfigBytes } from "./private/git-folder.ts";

/** Options of {@link namedBySettings}. */
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
  for (const { file, entry } of await allSettings(top, { commonDir, signal })) {
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

/** A setting, and the file that it stands in. */
interface Setting {
  file: string;
  entry: ConfigEntry;
}

/** Every setting that counts. Where git cannot read all, those of the repository's own file: they name the others. */
async function allSettings(top: string, { commonDir, signal }: NamedOptions): Promise<Setting[]> {
  const texts: string[] = [];
  const where = commonDir === undefined ? [] : ["--git-dir", commonDir];
  const args = ["config", "--list", "-z", "--show-origin"];
  try {
    const outcome = await eachRecord([...where, ...args], { cwd: top, env: readingEnv(), signal }, (record) => {
      texts.push(new TextDecoder().decode(record));
    });
    if (outcome.exit_code !== 0) throw gitError(args, outcome);
  } catch (error) {
    if (!(error instanceof BulkheadError)) throw error;
    return await settingsIn(join(commonDir ?? join(top, ".git"), "config"));
  }
  const settings: Setting[] = [];
  for (let at = 0; at + 1 < texts.length; at += 2) {
    const [origin = "", text = ""] = texts.slice(at, at + 2);
    if (origin.startsWith("file:")) {
      settings.push({ file: resolve(top, origin.slice("file:".length)), entry: entryOf(text) });
    }
  }
  return settings;
}

async function settingsIn(file: string): Promise<Setting[]> {
  const bytes = await readPlainFile(file, maxConfigBytes);
  return bytes === null ? [] : parseConfig(new TextDecoder().decode(bytes)).map((entry) => ({ file, entry }));
}

function entryOf(text: string): ConfigEntry {
  const end = text.indexOf("\n");
  return end === -1 ? { key: text, value: "true" } : { key: text.slice(0, end), value: text.slice(end + 1) };
}
