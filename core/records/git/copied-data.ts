import { fewAtOnce } from "./private/few-entries.ts";
import { lstat } from "../../ground/platform/files/files.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { findRepository, readingEnv } from "./find-repository.ts";
import { eachRecord } from "./git-call.ts";
import { pathText } from "./raw-diff.ts";

/** Files of a work tree that are in no commit, and that a worktree gets copies of. */
export interface CopiedData {
  files: number;
  bytes: number;
  largest: { path: string; bytes: number };
}

/** From here on a person is told before the files are copied. */
const largeBytes = 50 * 1024 * 1024;
const manyFiles = 5000;

/**
 * Measures what a worktree of a working directory would copy: changed files, and untracked ones that are not ignored.
 * @returns null where that is little, and where it cannot be found out
 */
export async function measureCopied(workdir: string, signal: AbortSignal): Promise<CopiedData | null> {
  try {
    const repository = await findRepository({ workdir, signal });
    if (repository === null) return null;
    const paths: string[] = [];
    const args = ["ls-files", "-z", "-o", "-m", "--exclude-standard"];
    const run = { cwd: repository.top, env: readingEnv(), signal };
    await eachRecord(args, run, (record) => paths.push(pathText(record)));
    const found = await measure(repository.top, paths);
    return found.bytes >= largeBytes || found.files >= manyFiles ? found : null;
  } catch {
    return null;
  }
}

async function measure(top: string, paths: readonly string[]): Promise<CopiedData> {
  const found: CopiedData = { files: 0, bytes: 0, largest: { path: "", bytes: -1 } };
  const add = async (path: string): Promise<void> => {
    const info = await lstat(join(top, path)).catch(() => null);
    if (!info?.isFile()) return;
    found.files++;
    found.bytes += info.size;
    if (info.size > found.largest.bytes) found.largest = { path, bytes: info.size };
  };
  await fewAtOnce(paths, add);
  return found;
}
