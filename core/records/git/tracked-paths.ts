import { runGit } from "../../ground/runtime/git-program.ts";
import { splitNul } from "./git-call.ts";
import { type GitPlace, readingEnv } from "./find-repository.ts";

/** A path's bytes as a key: each byte another character. */
export function pathKey(path: Uint8Array): string {
  return new TextDecoder("latin1").decode(path);
}

/**
 * Keys of all paths below the working directory that the user's repository tracks now, in its index or its HEAD
 * commit; none outside a repository.
 */
export async function listTracked(place: GitPlace): Promise<Set<string>> {
  const run = { cwd: place.workdir, env: readingEnv(), signal: place.signal };
  const [inIndex, inHead] = await Promise.all([
    runGit(["ls-files", "-z"], run),
    runGit(["ls-tree", "-r", "-z", "--name-only", "HEAD"], run),
  ]);
  // Either fails where there is no repository, no work tree or no commit, and then tracks nothing.
  const outputs = [inIndex, inHead].filter((outcome) => outcome.exit_code === 0);
  return new Set(outputs.flatMap((outcome) => splitNul(outcome.stdout).map(pathKey)));
}
