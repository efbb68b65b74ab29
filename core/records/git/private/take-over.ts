import { runIn } from "../find-repository.ts";
import { isThere } from "../look-at.ts";
import type { GitChange } from "../../../../plugin-sdk/git-changes.ts";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { asBuffer } from "../../../ground/platform/files/as-buffer.ts";
import { copyFile, lstat, mkdir, readdir, rename, rm } from "../../../ground/platform/files/files.ts";
import { basename, dirname, join } from "../../../ground/platform/files/paths.ts";
import { readPlainFile } from "../../../ground/platform/files/read-plain-file.ts";
import { removeTree } from "../../../ground/platform/files/remove-tree.ts";
import { Turns } from "../../../ground/platform/engine/turns.ts";
import { withDeadline } from "../deadline.ts";
import { git, linesIn } from "../git-call.ts";
import { holdNames } from "./hold-borrowed.ts";
import { leavePlace } from "./kept-places.ts";
import { quoteWord } from "../../../ground/config/grant-command.ts";
import { dropOwnLock } from "./move-head.ts";
import { planOf } from "./plan-take-over.ts";
import { type PrivateRecord, type PrivateRepository, readPrivateRecord } from "./private-record.ts";
import { settle } from "./settle.ts";
import type { PathRules } from "./look-at-commits.ts";
import { digestFile } from "../../../ground/platform/files/file-digest.ts";
import { randomId } from "../../../ground/platform/files/hash.ts";
import { fewEntries } from "./few-entries.ts";

interface TakeOverOptions extends Pick<PathRules, "heldPath"> {
  signal?: AbortSignal | undefined;
  timeoutMs?: number;
}

/** Time for one session's take-over. Milliseconds. */
const takeOverMs = 120_000;

/** Take-overs into one repository, one after another: each one's moves decide about the next. */
const turns = new Turns(1);

/** Bytes of packed refs that are looked through. */
const maxPackedBytes = 64 * 1024 * 1024;

/**
 * Takes over what an agent did in the private git folders of a session, and removes them. Nothing of the repository moves
 * that a person, or another session, has moved meanwhile. Objects that git refuses stay in the folder.
 * @returns every change, for the person; empty where nothing was changed
 * @throws never because of files that the agent left
 */
export async function takeOver(folder: string, options: TakeOverOptions): Promise<GitChange[]> {
  const record = await readPrivateRecord(folder);
  if (record === null) {
    await removeTree(folder);
    return [];
  }
  // The rest goes to another place, so that no later host begins again.
  const left = join(dirname(dirname(folder)), "git-left", basename(folder));
  const changes: GitChange[] = [];
  let isLeft = false;
  for (const known of record.repositories) {
    const place = join(folder, known.name);
    const own = await takeOverOne(known, { ...options, place, record }).catch((error: unknown): GitChange[] => {
      isLeft = true;
      return [notTaken(error, join(left, known.name, "git"))];
    });
    // Nothing else brings back what git could not read or store.
    const lost = own.filter(({ outcome, command }) => outcome === "left" && command === undefined);
    for (const change of lost) change.command = `ls ${quoteWord(join(left, known.name, "git"))}`;
    isLeft ||= lost.length > 0;
    changes.push(...own.map((change) => known.below === "" ? change : { ...change, submodule: known.below }));
  }
  for (const [at, path] of record.empty.entries()) {
    const names = await readdir(join(folder, `empty-${at}`)).catch((): string[] => []);
    if (names.length === 0) continue;
    isLeft = true;
    changes.push(madeThere(path, { left: join(left, `empty-${at}`), isRepository: names.includes("HEAD") }));
  }
  // One may lie in another.
  for (const path of record.kept.toReversed()) await leavePlace(path);
  if (isLeft) await mkdir(dirname(left), { recursive: true, mode: 0o700 }).then(() => rename(folder, left));
  else await removeTree(folder);
  return changes;
}

async function takeOverOne(
  known: PrivateRepository,
  { place, record, heldPath, signal, timeoutMs = takeOverMs }: TakeOverOptions & {
    place: string;
    record: PrivateRecord;
  },
): Promise<GitChange[]> {
  const { session_id: sessionId, is_worktree: isWorktree } = record;
  return await turns.take(known.common_dir, () =>
    withDeadline({ signal, timeoutMs }, async (within) => {
      await dropOwnLock(known, sessionId);
      const plan = await planOf(known, { place, sessionId, isWorktree, heldPath, signal: within });
      const taken = plan === null ? [] : await settle(plan);
      taken.push(...await largeFilesOf(known, place));
      if (!isWorktree) await dropHolds(known, { sessionId, signal: within });
      return taken;
    }));
}

function notTaken(error: unknown, place: string): GitChange {
  const because = error instanceof BulkheadError ? error.message.replace(/\.$/, "") : String(error);
  return { name: place, outcome: "left", reason: `it could not be taken over: ${because}`, command: fetchFrom(place) };
}

/** Removes the refs that kept the borrowed objects for the time of the session. */
async function dropHolds(
  { git_dir: gitDir, common_dir: commonDir }: PrivateRepository,
  { sessionId, signal }: { sessionId: string; signal: AbortSignal },
): Promise<void> {
  const names = holdNames(sessionId);
  const isLoose = await Promise.all(names.map((name) => isThere(join(commonDir, name))));
  const packed = await readPlainFile(join(commonDir, "packed-refs"), maxPackedBytes);
  const isPacked = packed !== null && asBuffer(packed).includes(`refs/bulkhead/${sessionId}/base/`);
  if (!isLoose.includes(true) && !isPacked) return;
  const stdin = linesIn(names.map((name) => `delete ${name}`));
  await git(["update-ref", "--stdin"], { ...runIn(gitDir), stdin, signal });
}

function madeThere(path: string, { left, isRepository }: { left: string; isRepository: boolean }): GitChange {
  const folder = dirname(path);
  if (basename(path) !== ".git") {
    const reason = "the agent worked in a submodule that is not checked out";
    return { name: path, outcome: "left", reason, command: `ls ${quoteWord(left)}` };
  }
  if (!isRepository) {
    const reason = "the agent wrote into the git folder of a folder that has none";
    return { name: path, outcome: "left", reason, command: `ls ${quoteWord(left)}` };
  }
  const reason = "the agent made a repository in a folder that has none, and only its files are there";
  const command = `git init ${quoteWord(folder)} && ${fetchFrom(left, `git -C ${quoteWord(folder)}`)}`;
  return { name: path, outcome: "left", reason, command };
}

function fetchFrom(folder: string, git = "git"): string {
  return `${git} fetch ${quoteWord(folder)} '+refs/heads/*:refs/heads/agent/*'`;
}

/** Files of git-lfs that are taken over, and bytes of each. */
const mostFiles = 2000;
const maxBytes = 4 * 1024 * 1024 * 1024;

/** Copies what git-lfs stored into the repository's own store, each file under the digest that it really has. */
async function largeFilesOf({ common_dir }: PrivateRepository, place: string): Promise<GitChange[]> {
  const from = join(place, "git/lfs/objects");
  const names = await namesIn(from);
  let left = Math.max(0, names.length - mostFiles);
  for (const name of names.slice(0, mostFiles)) {
    const path = join(from, name.slice(0, 2), name.slice(2, 4), name);
    const to = join(common_dir, "lfs/objects", name.slice(0, 2), name.slice(2, 4), name);
    if (await isThere(to)) continue;
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
  return await isThere(to);
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
