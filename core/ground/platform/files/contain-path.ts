import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { lstat, realpath } from "./files.ts";
import { basename, dirname, join, resolve } from "./paths.ts";

interface PathBases {
  workdir: string;
  /** `data:` in front makes a path relative to this folder. */
  dataDir: string;
}

/**
 * Resolves an adapter's path to an absolute one without `..` and `.`. Expands and decodes nothing: `~` and `%2e` are
 * ordinary names.
 *
 * @throws {BulkheadError} `invalid_request` for control characters and lone surrogates
 */
export function absolutePath(path: string, { workdir, dataDir }: PathBases): string {
  // deno-lint-ignore no-control-regex
  if (/[\u0000-\u001f\u007f]|\p{Cs}/u.test(path)) {
    throw new BulkheadError(
      "invalid_request",
      "Cannot use the path: it holds a control character or half a character.",
    );
  }
  return path.startsWith("data:") ? resolve(dataDir, `./${path.slice(5)}`) : resolve(workdir, path);
}

/** Real location of a path. */
interface RealLocation {
  /** Every link followed as far as it exists; the last segment only on request. */
  path: string;
  /** Names at the end of `path` that do not exist yet. */
  missing: string[];
  /** Why it cannot be used at all. Throw it only after the place is allowed: it reveals what exists. */
  fault: BulkheadError | null;
}

/** Finds the real place of an absolute path. `followLast: false` does not follow a link at the end. */
export async function locate(path: string, { followLast }: { followLast: boolean }): Promise<RealLocation> {
  if (!followLast && dirname(path) !== path) {
    const folder = await locate(dirname(path), { followLast: true });
    return { ...folder, path: join(folder.path, basename(path)), missing: folder.missing };
  }
  const whole = await tryRealpath(path);
  if ("real" in whole) return { path: whole.real, missing: [], fault: null };
  if (!whole.absent) return { path, missing: [], fault: unusable(path, whole.code) };
  return await locateMissing(path);
}

/** The real place of a path that does not exist. Bisects, as an adapter may name thousands of missing folders. */
async function locateMissing(path: string): Promise<RealLocation> {
  const chain = ancestors(path);
  let real = chain[0]!;
  let existing = 0;
  for (let absent = chain.length - 1; absent - existing > 1;) {
    const middle = Math.floor((existing + absent) / 2);
    const found = await tryRealpath(chain[middle]!);
    if ("real" in found) [real, existing] = [found.real, middle];
    else if (found.absent) absent = middle;
    else return { path, missing: [], fault: unusable(path, found.code) };
  }
  const missing = chain.slice(existing + 1).map((one) => basename(one));
  const place = join(real, ...missing);
  if (!(await isLink(chain[existing + 1]!))) return { path: place, missing, fault: null };
  return { path: place, missing: [], fault: unusable(path, "a link in it leads nowhere") };
}

/** A path's ancestors from the root on, with the path itself at the end. */
function ancestors(path: string): string[] {
  const chain = [path];
  for (let at = path; dirname(at) !== at; at = dirname(at)) chain.push(dirname(at));
  return chain.reverse();
}

async function tryRealpath(path: string): Promise<{ real: string } | { absent: boolean; code: string }> {
  try {
    return { real: await realpath(path) };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    return { absent: code === "ENOENT" || code === "ENOTDIR", code };
  }
}

async function isLink(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => null))?.isSymbolicLink() ?? false;
}

function unusable(path: string, why: string): BulkheadError {
  return new BulkheadError("io_error", `Cannot use "${path}": the system cannot follow it (${why}).`);
}
