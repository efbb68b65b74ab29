import { Turns } from "../../ground/platform/engine/turns.ts";
import { Type } from "@sinclair/typebox";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { closed, exactly } from "../../../plugin-sdk/schema.ts";
import { lazyCheck, parseChecked } from "../../ground/checks/lazy-check.ts";
import { mkdir, realpath, stat } from "../../ground/platform/files/files.ts";
import { runGit, userGitEnvironment } from "../../ground/platform/processes/git-program.ts";
import { sha256Hex } from "../../ground/platform/files/hash.ts";
import { isInside, join, resolve } from "../../ground/platform/files/paths.ts";
import type { SharedNotes } from "./shared-notes.ts";
import { removeTree } from "../../ground/platform/files/remove-tree.ts";

/** A repository that a session works in, wherever it runs. */
interface RemoteRepository {
  url: string;
  /** A branch, tag or commit; default: the repository's own branch. */
  ref?: string;
}

/** Nothing that a repository could have git run, and no way to fetch but these. */
const careful = ["core.hooksPath=/dev/null", "core.fsmonitor=false", "submodule.recurse=false"]
  .flatMap((setting) => ["-c", setting]);
const protocols = "https:ssh:git:file";
const longestMs = 10 * 60_000;

/** A repository, and the folder of it that a session works in. */
interface SessionRepository extends RemoteRepository {
  workdir: string;
}

/** Clones of the repositories that sessions were asked to work in. One use of a clone at a time. */
export class Repositories {
  readonly #folder: string;
  readonly #notes: Pick<SharedNotes, "get" | "set">;
  readonly #turns = new Turns(1);

  /** @param folder of the clones */
  constructor(folder: string, notes: Pick<SharedNotes, "get" | "set">) {
    this.#folder = folder;
    this.#notes = notes;
  }

  /** Tells all machines where a session works, so that another one can go on with it. */
  async remember(sessionId: string, repository: SessionRepository): Promise<void> {
    await this.#notes.set({ kind: "repository", name: sessionId, text: JSON.stringify(repository) });
  }

  /** Returns where a session works; null for one that was asked to work in no repository. */
  async of(sessionId: string): Promise<SessionRepository | null> {
    return parseChecked(await this.#notes.get("repository", sessionId) ?? "null", check);
  }

  /**
   * Brings a repository here and calls back with the path of a folder in it; until that resolves, nothing else changes
   * the clone.
   * @param workdir a folder of the repository; `.` is its top
   * @throws {BulkheadError} `invalid_request`, `network_error`, `not_found`, `git_missing`
   */
  use<T>({ url, ref }: RemoteRepository, workdir: string, act: (workdir: string) => Promise<T>): Promise<T> {
    const folder = join(this.#folder, sha256Hex(url).slice(0, 32));
    return this.#turns.take(url, async () => {
      await fetchInto(folder, { url, ref: ref ?? "HEAD" });
      return await act(await folderIn(folder, workdir));
    });
  }
}

const check = lazyCheck(
  exactly<SessionRepository>()(Type.Object({
    url: Type.String({ minLength: 1, maxLength: 4096 }),
    ref: Type.Optional(Type.String({ minLength: 1, maxLength: 1024 })),
    workdir: Type.String({ minLength: 1, maxLength: 4096 }),
  }, closed)),
);

async function fetchInto(folder: string, { url, ref }: { url: string; ref: string }): Promise<void> {
  if (url.startsWith("-") || ref.startsWith("-")) throw notThere({ url, ref }, "it begins with a hyphen");
  const isNew = await stat(join(folder, ".git")).then(() => false, () => true);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const signal = AbortSignal.timeout(longestMs);
  try {
    if (isNew) await git(["init", "--quiet"], { folder, signal, url, ref });
    await git(["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", url, ref], { folder, signal, url, ref });
    await git(["checkout", "--quiet", "--force", "--detach", "FETCH_HEAD"], { folder, signal, url, ref });
    await git(["clean", "--quiet", "-ffdx"], { folder, signal, url, ref });
  } catch (error) {
    if (isNew) await removeTree(folder);
    throw error;
  }
}

async function git(
  args: readonly string[],
  { folder, signal, url, ref }: { folder: string; signal: AbortSignal; url: string; ref: string },
): Promise<void> {
  const env = userGitEnvironment({ GIT_ALLOW_PROTOCOL: protocols });
  const { exit_code, stderr } = await runGit([...careful, ...args], { cwd: folder, env, signal });
  if (exit_code === 0) return;
  throw notThere({ url, ref }, stderr.trim().split("\n").at(-1) ?? "git failed");
}

/** @throws {BulkheadError} `invalid_request`, `workdir_missing` */
async function folderIn(clone: string, workdir: string): Promise<string> {
  const folder = await realpath(resolve(clone, workdir)).catch(() => null);
  if (folder !== null && !isInside(await realpath(clone), folder)) {
    throw new BulkheadError("invalid_request", `Cannot work in "${workdir}": it is outside of the repository.`, {
      hint: 'Name a folder of the repository; "." is its top.',
    });
  }
  if (folder !== null && await stat(folder).then((found) => found.isDirectory(), () => false)) return folder;
  throw new BulkheadError("workdir_missing", `The repository has no folder "${workdir}".`);
}

function notThere({ url, ref }: { url: string; ref: string }, why: string): BulkheadError {
  return new BulkheadError("not_found", `Cannot fetch "${ref}" of "${url}": ${why}.`, {
    hint: "Check the address, the ref, and that git on that machine may read it.",
    details: { url, ref },
  });
}
