import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { runGit, userGitEnvironment } from "../../ground/platform/processes/git-program.ts";
import { joinBytes } from "../../ground/platform/files/join-bytes.ts";
import { makeTemporaryFolder } from "../../ground/platform/files/temporary-folder.ts";
import { removeTree } from "../../ground/platform/files/remove-tree.ts";

/** One commit of a repository as an archive. */
interface GitArchive {
  /** A tar archive, in which the files lie in one folder. */
  bytes: Uint8Array;
  commit: string;
}

/** Nothing that a repository, or its attributes, could have git run. */
const careful = [
  "-c",
  "core.hooksPath=/dev/null",
  "-c",
  "protocol.ext.allow=never",
  "-c",
  "core.fsmonitor=false",
  "-c",
  "submodule.recurse=false",
];

const longestMs = 120_000;

/**
 * Takes one commit of a git repository as an archive, without a checkout: no hook, filter or script of it runs. Log-ins
 * are those of the user's own git.
 * @throws {BulkheadError} `git_missing`, `network_error`, `not_found`, `too_large`, `io_error`
 */
export async function fetchGit(
  { url, ref }: { url: string; ref: string | null },
  maxBytes: number,
): Promise<GitArchive> {
  if (url.startsWith("-") || ref?.startsWith("-")) throw notThere(url, ref, "it begins with a hyphen");
  const folder = await makeTemporaryFolder("git");
  const signal = AbortSignal.timeout(longestMs);
  try {
    // Named, because a user's git may take no bare repository that it comes across.
    const env = { ...userGitEnvironment(), GIT_DIR: folder };
    const here = { ...alone, GIT_DIR: folder };
    await git(["init", "--quiet", "--bare"], { cwd: folder, env: here, signal, url });
    const wanted = ref ?? "HEAD";
    const fetch = ["fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", url, wanted];
    const fetched = await runGit([...careful, ...fetch], { cwd: folder, env, signal });
    // Some servers give a commit only with all that leads to it.
    if (fetched.exit_code !== 0) {
      if (ref === null || !/^[0-9a-f]{7,40}$/.test(ref)) throw unreachable(url, fetched.stderr);
      await git([...careful, "fetch", "--quiet", url, "+refs/*:refs/fetched/*"], { cwd: folder, env, signal, url });
    }
    const name = fetched.exit_code === 0 ? "FETCH_HEAD" : `${ref}`;
    const found = await runGit(["rev-parse", "--verify", "--end-of-options", `${name}^{commit}`], {
      cwd: folder,
      env: here,
      signal,
    });
    if (found.exit_code !== 0) throw notThere(url, ref, "it has no such commit");
    const commit = new TextDecoder().decode(found.stdout).trim();
    const archive = ["archive", "--format=tar", "--prefix=package/", commit];
    return { commit, bytes: await collect(archive, { cwd: folder, env: here, signal, url, maxBytes }) };
  } finally {
    await removeTree(folder);
  }
}

/** Environment that makes git ignore the user's and the system's configuration. */
const alone = { GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null", GIT_TERMINAL_PROMPT: "0" };

async function git(
  args: readonly string[],
  { url, ...options }: { cwd: string; env: Record<string, string>; signal: AbortSignal; url: string },
): Promise<void> {
  const { exit_code, stderr } = await runGit(args, options);
  if (exit_code !== 0) throw unreachable(url, stderr);
}

async function collect(
  args: readonly string[],
  { url, maxBytes, ...options }: {
    cwd: string;
    env: Record<string, string>;
    signal: AbortSignal;
    url: string;
    maxBytes: number;
  },
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const { exit_code, stderr } = await runGit(args, {
    ...options,
    onStdout: (chunk) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) chunks.push(chunk);
    },
  });
  if (bytes > maxBytes) {
    throw new BulkheadError("too_large", `Cannot take ${url}: its files have more than ${maxBytes} bytes.`);
  }
  if (exit_code !== 0) throw unreachable(url, stderr);
  return joinBytes(chunks);
}

function unreachable(url: string, stderr: string): BulkheadError {
  const why = stderr.trim().split("\n").at(-1)?.replace(/\.$/, "") || "git gave no reason";
  return new BulkheadError("network_error", `Cannot fetch the repository ${url}: ${why}.`);
}

function notThere(url: string, ref: string | null, because: string): BulkheadError {
  return new BulkheadError("not_found", `Cannot take ${ref ?? "HEAD"} of ${url}: ${because}.`);
}
