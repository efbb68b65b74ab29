import { pathKey } from "./git-call.ts";
import { type GitPlace, readingEnv } from "./find-repository.ts";
import { eachRecord } from "./git-records.ts";

/**
 * Those of some paths below the working directory that the user's repository tracks now, in its index or its HEAD commit;
 * none outside a repository.
 * @param keys of the paths, as {@link pathKey} gives them
 */
export async function trackedOf(keys: ReadonlySet<string>, place: GitPlace): Promise<Set<string>> {
  const run = { cwd: place.workdir, env: readingEnv(), signal: place.signal };
  const tracked = new Set<string>();
  if (keys.size === 0) return tracked;
  const note = (path: Uint8Array) => {
    const key = pathKey(path);
    if (keys.has(key)) tracked.add(key);
  };
  // Either fails where there is no repository, no work tree or no commit, and then tracks nothing.
  await Promise.all([
    eachRecord(["ls-files", "-z"], run, note),
    eachRecord(["ls-tree", "-r", "-z", "--name-only", "HEAD"], run, note),
  ]);
  return tracked;
}
