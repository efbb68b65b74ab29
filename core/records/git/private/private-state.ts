import { isThere, plainText } from "../look-at.ts";
import { join } from "../../../ground/platform/files/paths.ts";
import { readPlainFile } from "../../../ground/platform/files/read-plain-file.ts";
import { stateFiles } from "./copy-git-folder.ts";
import { fewEntries } from "./few-entries.ts";
import type { PrivateRepository } from "./private-record.ts";
import { isObjectId, parsePackedRefs, readRefs, type Refs, refText, symbolicTarget } from "./read-refs.ts";

/** A git folder as an agent left it, or as it began, read as data. */
export interface GitState {
  /** Text of HEAD. */
  head: string;
  /** The commit that HEAD names; null where it names none. */
  commit: string | null;
  refs: Refs;
  /** Bytes of the index; null without one. */
  index: Uint8Array | null;
  /** Contents of the files that say what is under way. */
  under: Map<string, string>;
}

/** Objects that a private git folder names besides HEAD, refs and the index. */
export interface Reached {
  /** Commits of the stash that are new, the newest first. */
  stashes: string[];
  /** Objects by the place that names them: `rebase-merge/onto`. */
  others: Map<string, string>;
  /** Ids in logs, the newest first. */
  logged: string[];
  isRebasing: boolean;
}

const maxIndexBytes = 256 * 1024 * 1024;
const maxLogBytes = 4 * 1024 * 1024;

/** Most logs that are read, and most ids in them that are looked at. */
const mostLogs = 200;
const mostLogged = 2000;

/** Reads the state of the repository as it was when the agent began. */
export async function stateBefore({ head }: PrivateRepository, place: string): Promise<GitState> {
  const base = join(place, "base");
  const refs = parsePackedRefs(await plainText(join(base, "packed-refs"), maxLogBytes * 16));
  return await stateOf(base, { head, refs });
}

/** Reads the state of a git folder now. */
export async function stateNow({ gitDir, commonDir }: { gitDir: string; commonDir: string }): Promise<GitState> {
  const [head, refs] = await Promise.all([refText(join(gitDir, "HEAD")), readRefs(commonDir)]);
  return await stateOf(gitDir, { head, refs });
}

async function stateOf(
  folder: string,
  { head, refs }: { head: string; refs: Refs },
): Promise<GitState> {
  const index = await readPlainFile(join(folder, "index"), maxIndexBytes);
  const under = new Map<string, string>();
  await Promise.all(stateFiles.map(async (name) => {
    const text = await readPlainFile(join(folder, name), 1_000_000);
    if (text !== null) under.set(name, new TextDecoder().decode(text));
  }));
  return { head, commit: commitOf(head, refs), refs, index, under };
}

/** The commit that a text of HEAD names among refs. */
function commitOf(head: string, { ids }: Pick<Refs, "ids">): string | null {
  const target = symbolicTarget(head);
  if (target !== null) return ids.get(target) ?? null;
  return isObjectId(head) ? head : null;
}

/** Reads what a private git folder names besides HEAD, refs and the index. */
export async function reachedBy(place: string): Promise<Reached> {
  const git = join(place, "git");
  const [before, now, others, logs, rebasing] = await Promise.all([
    logged(join(place, "base/stash-log")),
    logged(join(git, "logs/refs/stash")),
    namedIn(git),
    logFiles(join(git, "logs"), 0),
    Promise.all(["rebase-merge", "rebase-apply"].map((name) => isThere(join(git, name)))),
  ]);
  const known = new Set(before);
  const ids = new Set<string>();
  for (const file of logs.slice(0, mostLogs)) for (const id of await logged(file)) ids.add(id);
  return {
    stashes: [...new Set(now)].filter((id) => !known.has(id)),
    others,
    logged: [...ids].slice(0, mostLogged),
    isRebasing: rebasing.includes(true),
  };
}

/** Ids that a log's lines lead to, the newest first (git-reflog(1)). */
async function logged(file: string): Promise<string[]> {
  const lines = (await plainText(file, maxLogBytes)).split("\n");
  return lines.map((line) => line.split(" ", 2)[1] ?? "").filter(isObjectId).reverse();
}

/** Files of logs, up to a number, without that of the stash: it has a place of its own. */
async function logFiles(folder: string, depth: number): Promise<string[]> {
  const found: string[] = [];
  const entries = await fewEntries(folder, mostLogs);
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isFile() && !path.endsWith("/logs/refs/stash")) found.push(path);
    if (entry.isDirectory() && depth < 8 && found.length < mostLogs) found.push(...await logFiles(path, depth + 1));
  }
  return found;
}

/** Files that name one object each, or several at the beginnings of lines. */
const naming = [
  "ORIG_HEAD",
  "MERGE_HEAD",
  "CHERRY_PICK_HEAD",
  "REVERT_HEAD",
  "AUTO_MERGE",
  ...["onto", "orig-head", "amend", "stopped-sha", "autostash"].map((name) => `rebase-merge/${name}`),
  ...["onto", "orig-head", "autostash"].map((name) => `rebase-apply/${name}`),
];

async function namedIn(git: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const worktrees = (await fewEntries(join(git, "worktrees"), mostLogs)).map(({ name }) => name);
  const files = [...naming, ...worktrees.map((name) => `worktrees/${name}/HEAD`)];
  await Promise.all(files.map(async (file) => {
    const lines = (await plainText(join(git, file), 65_536)).split("\n").map((line) => line.split("\t", 1)[0]!);
    for (const [at, id] of lines.filter(isObjectId).entries()) found.set(at === 0 ? file : `${file}-${at}`, id);
  }));
  return found;
}
