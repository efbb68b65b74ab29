import type { GitEvent } from "../../../plugin-sdk/envelope.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { GitMounts } from "../../records/git/private/git-mounts.ts";
import { findGitFolder } from "../../records/git/private/git-folder.ts";
import { holdBorrowed } from "../../records/git/private/hold-borrowed.ts";
import { makePrivate, type PrivateGit } from "../../records/git/private/make-private.ts";
import { privateMoved } from "../../records/git/private/private-moved.ts";
import { takeOver } from "../../records/git/private/take-over.ts";
import { guardedBy } from "../../ground/platform/places/guarded-name.ts";
import { platform } from "../../ground/platform/engine/platform.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { wait } from "../../ground/platform/engine/wait.ts";

interface SessionGitOptions {
  sessionId: string;
  workdir: string;
  workspaceDir: string | null;
  /** Folder with the private git folders of all sessions of this part of the state. */
  gitDir: string;
  /** Real, absolute paths of which nothing is shown. */
  closed: readonly string[];
  /** Roots for writing that the operator's grants spell out. */
  spelledRoots: readonly string[];
}

/** Time until a session's start no longer needs the processor. Milliseconds. */
const holdAfterMs = 250;

/** Changes that an event lists. */
const mostChanges = 200;

/** The git folders that a session's contained programs see instead of the real ones. */
export class SessionGit {
  readonly #options: SessionGitOptions;
  #abort = new AbortController();
  #git: Promise<PrivateGit> | null = null;
  #mounts: Promise<GitMounts> | null = null;
  #holding: Promise<void> = Promise.resolve();

  constructor(options: SessionGitOptions) {
    this.#options = options;
  }

  /**
   * Makes them on first use, and later also for submodules that are new.
   * @throws {BulkheadError} `unsupported` for a repository for which it cannot be done; `io_error`
   */
  mounts(): Promise<GitMounts> {
    const [git, last] = [this.#git ??= this.#make(), this.#mounts];
    this.#mounts = last === null
      ? git.then(({ mounts }) => mounts)
      : Promise.allSettled([last]).then(async () => (await git).again());
    return this.#mounts;
  }

  /** Resolves when what the git folders borrow is kept from a person who cleans up, or cannot be. */
  get held(): Promise<void> {
    return this.#holding.catch(() => {});
  }

  /**
   * Returns true when a program that sees the folders and the person's repository no longer go together: one of both has
   * moved on, or that cannot be told.
   */
  async hasMoved(): Promise<boolean> {
    if (this.#git === null) return false;
    const { sessionId, gitDir } = this.#options;
    const { record } = await this.#git;
    return await privateMoved(record, { folder: join(gitDir, sessionId), signal: this.#abort.signal }).catch(() =>
      true
    );
  }

  /** Takes over what the agent did with git, and removes the folders. Null where it did nothing. Never rejects. */
  async end(): Promise<GitEvent | null> {
    if (this.#git === null) return null;
    this.#abort.abort();
    await Promise.allSettled([this.#mounts, this.#holding]);
    this.#git = null;
    const { sessionId, gitDir, spelledRoots } = this.#options;
    return await takeOverOf(join(gitDir, sessionId), spelledRoots);
  }

  async #make(): Promise<PrivateGit> {
    const { sessionId, workdir, workspaceDir, gitDir, closed } = this.#options;
    const record = { session_id: sessionId, is_worktree: workspaceDir !== null, repositories: [], empty: [], kept: [] };
    if (platform === "darwin") {
      const mounts = await shownAlone(workspaceDir ?? workdir, closed);
      return { record, mounts, again: () => Promise.resolve(mounts) };
    }
    const folder = join(gitDir, sessionId);
    if (this.#abort.signal.aborted) this.#abort = new AbortController();
    const { signal } = this.#abort;
    const options = { sessionId, folder, workdir, workspaceDir: workspaceDir ?? undefined, closed, signal };
    const git = await makePrivate(options);
    // The first words of the agent do not wait for it, and a session that is over by then needs none.
    this.#holding = wait(holdAfterMs, signal).then(() =>
      signal.aborted ? undefined : holdBorrowed(git.record, { folder, signal })
    );
    this.#holding.catch(() => {});
    return git;
  }
}

/** Takes over the private git folders of one session; also those of a session whose host was killed. Never rejects. */
export async function takeOverOf(folder: string, spelledRoots: readonly string[] = []): Promise<GitEvent | null> {
  const changes = await takeOver(folder, { heldPath: (path) => heldPath(path, spelledRoots) })
    .catch((error: unknown) => [{ name: folder, outcome: "left" as const, reason: reasonOf(error) }]);
  if (changes.length === 0) return null;
  const omitted = changes.length - mostChanges;
  return { type: "git", changes: changes.slice(0, mostChanges), ...(omitted > 0 ? { omitted } : {}) };
}

/** Shows the repository alone where the system has no mounts: guards keep an agent's git from writing what runs programs. */
async function shownAlone(folder: string, closed: readonly string[]): Promise<GitMounts> {
  const found = await findGitFolder(folder, { closed });
  const shown = found === null ? [] : [join(found.top, ".git"), found.commonDir];
  return { covered: [], bound: [], held: [], sealed: [], shown };
}

/** Why a path of a commit is held: its name is one that other programs obey, and no grant spells it out. */
function heldPath(path: string, spelledRoots: readonly string[]): string | null {
  const parts = path.split("/");
  const name = parts.find((part) => guardedBy(part) !== null);
  if (name === undefined) return null;
  const isOpened = parts.some((_, at) => spelledRoots.includes(`workdir:${parts.slice(0, at + 1).join("/")}`));
  return isOpened ? null : `"${path}" is a file that other programs obey`;
}

function reasonOf(error: unknown): string {
  return error instanceof BulkheadError ? error.message.replace(/\.$/, "") : String(error);
}
