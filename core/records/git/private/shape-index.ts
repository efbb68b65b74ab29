import { runGit } from "../../../ground/platform/processes/git-program.ts";
import { copyWithTime } from "../../../ground/platform/files/copy-with-time.ts";
import { mkdir, readdir, readFile, writeFile } from "../../../ground/platform/files/files.ts";
import { join } from "../../../ground/platform/files/paths.ts";
import { configText, parseConfig } from "./config-text.ts";
import { eachRecord, git, gitEnv, joinNul } from "../git-call.ts";
import type { PrivateRepository } from "./private-record.ts";
import { removeTree } from "../../../ground/platform/files/remove-tree.ts";

/** Makes a git folder without refs, objects and settings, for calls that are told everything else. */
export async function emptyRepository(
  gitDir: string,
  { objectFormat, shallow }: { objectFormat: string; shallow?: string },
): Promise<void> {
  await Promise.all(["objects", "refs"].map((name) => mkdir(join(gitDir, name), { recursive: true })));
  const format = objectFormat === "sha1" ? [] : [{ key: "extensions.objectformat", value: objectFormat }];
  const config = configText([
    { key: "core.repositoryformatversion", value: format.length === 0 ? "0" : "1" },
    { key: "core.bare", value: "false" },
    ...format,
  ]);
  await Promise.all([
    writeFile(join(gitDir, "HEAD"), "ref: refs/heads/none\n"),
    writeFile(join(gitDir, "config"), config),
    ...(shallow === undefined ? [] : [copyWithTime(shallow, join(gitDir, "shallow"))]),
  ]);
}

/** The environment of a call in such a folder. */
export function emptyRepositoryEnv(gitDir: string): Record<string, string> {
  return {
    ...gitEnv,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    HOME: join(gitDir, "home"),
    GIT_DIR: gitDir,
    GIT_WORK_TREE: gitDir,
  };
}

/** A repository's index, and where a readable copy of it is made. */
interface WholeIndexOptions {
  gitDir: string;
  commonDir: string;
  /** Folder for the copy, which must not be there. */
  folder: string;
  objectFormat: string;
  signal: AbortSignal;
}

/**
 * Copies an index that is in two files, or has folders instead of their files, as one with all files.
 * @returns path of the copy
 */
export async function wholeIndex(
  { gitDir, commonDir, folder, objectFormat, signal }: WholeIndexOptions,
): Promise<string> {
  await emptyRepository(folder, { objectFormat });
  const shared = (await readdir(gitDir)).filter((name) => name.startsWith("sharedindex."));
  await Promise.all([...shared, "index"].map((name) => copyWithTime(join(gitDir, name), join(folder, name))));
  const args = ["-c", "core.splitIndex=false", "update-index", "--no-split-index", "--force-write-index"];
  const env = { ...emptyRepositoryEnv(folder), GIT_OBJECT_DIRECTORY: join(commonDir, "objects") };
  await git(args, { cwd: folder, env, signal });
  return join(folder, "index");
}

/** Marks what lies outside the session's folder as left out, or the agent's next commit would remove it. */
export async function leaveOut(
  { prefix, object_format: objectFormat }: PrivateRepository,
  { place, signal }: { place: string; signal: AbortSignal },
): Promise<void> {
  const gitDir = join(place, "marks");
  await emptyRepository(gitDir, { objectFormat });
  const run = { cwd: gitDir, env: { ...emptyRepositoryEnv(gitDir), GIT_INDEX_FILE: join(place, "git/index") }, signal };
  const outside: Uint8Array[] = [];
  const start = new TextEncoder().encode(prefix);
  await eachRecord(["ls-files", "-z"], run, (path) => {
    if (!start.every((byte, at) => path[at] === byte)) outside.push(path.slice());
  });
  if (outside.length > 0) {
    await runGit(["update-index", "--skip-worktree", "-z", "--stdin"], { ...run, stdin: joinNul(outside) });
  }
  const file = join(place, "git/config");
  const settings = parseConfig(await readFile(file, "utf8"));
  const sparse = [{ key: "core.sparsecheckout", value: "true" }, { key: "core.sparsecheckoutcone", value: "false" }];
  const pattern = `/${prefix.replace(/[\\*?[!# ]/g, "\\$&")}\n`;
  await Promise.all([
    writeFile(file, configText([...settings, ...sparse])),
    writeFile(join(place, "git/info/sparse-checkout"), pattern),
    removeTree(gitDir),
  ]);
}
