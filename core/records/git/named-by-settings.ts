import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { isBelow, join, relative, resolve, sep } from "../../ground/runtime/paths.ts";
import { readingEnv } from "./find-repository.ts";
import { gitError } from "./git-call.ts";
import { eachRecord } from "./git-records.ts";
import type { ConfigEntry } from "./private/config-text.ts";
import { namedPlaces } from "./private/named-places.ts";

/** A work tree, and where its settings are read. */
interface NamedOptions {
  /** Folder in which git is asked; default: the work tree's top. */
  cwd?: string;
  signal: AbortSignal;
}

/**
 * Paths in a work tree that git takes programs from since its settings say so: all settings, included ones too. Relative
 * to the top, with `/`; nothing may be there. None where there is no git.
 * @throws {BulkheadError} `io_error` for settings that git cannot read
 */
export async function namedBySettings(top: string, { cwd = top, signal }: NamedOptions): Promise<string[]> {
  const texts: string[] = [];
  const args = ["config", "--list", "-z", "--show-origin"];
  try {
    const outcome = await eachRecord(args, { cwd, env: readingEnv(), signal }, (record) => {
      texts.push(new TextDecoder().decode(record));
    });
    if (outcome.exit_code !== 0) throw gitError(args, outcome);
  } catch (error) {
    if (error instanceof BulkheadError && error.code === "git_missing") return [];
    throw error;
  }
  const found = new Set<string>();
  for (let at = 0; at + 1 < texts.length; at += 2) {
    const [origin = "", text = ""] = texts.slice(at, at + 2);
    const file = origin.startsWith("file:") ? resolve(cwd, origin.slice("file:".length)) : cwd;
    for (const place of [file, ...namedPlaces([entryOf(text)], { top, file })]) found.add(place);
    // A session's worktree has its own copy of a file that the repository's settings name.
    if (isBelow(cwd, file)) found.add(resolve(top, relative(cwd, file)));
  }
  const inside = [...found].filter((place) => isBelow(top, place) && !isBelow(join(top, ".git"), place));
  return inside.map((place) => relative(top, place).split(sep).join("/"));
}

function entryOf(text: string): ConfigEntry {
  const end = text.indexOf("\n");
  return end === -1 ? { key: text, value: "true" } : { key: text.slice(0, end), value: text.slice(end + 1) };
}
