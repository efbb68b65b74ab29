import { BulkheadError } from "../../plugin-sdk/errors.ts";
import { lstat, realpath } from "../runtime/files.ts";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "../runtime/paths.ts";

/** Whether a path is a folder or stands in it, by whole segments: `/a/bc` is not inside `/a/b`. Both absolute. */
export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** What relative paths stand for. */
export interface PathBases {
  workdir: string;
  /** `data:` in front makes a path relative to this folder. */
  dataDir: string;
}

/**
 * An adapter's path as an absolute one, `..` and `.` taken out. Nothing is expanded or decoded: `~` and `%2e` are
 * names like any other.
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

/** Where a path really is. */
export interface RealLocation {
  /** With every link followed as far as it exists; the last segment only if asked for. */
  path: string;
  /** Names at the end of `path` that do not exist yet. */
  missing: string[];
  /** Why it cannot be used at all. To be thrown only once the place is known to be allowed: it tells what exists. */
  fault: BulkheadError | null;
}

/** Finds the real place of an absolute path. `followLast: false` takes a link at the end for itself. */
export async function locate(path: string, { followLast }: { followLast: boolean }): Promise<RealLocation> {
  if (!followLast && dirname(path) !== path) {
    const folder = await locate(dirname(path), { followLast: true });
    return { ...folder, path: join(folder.path, basename(path)), missing: folder.missing };
  }
  const missing: string[] = [];
  for (let existing = path;; existing = dirname(existing)) {
    const found = await tryRealpath(existing);
    if ("real" in found) return { path: join(found.real, ...missing), missing, fault: null };
    if (!found.absent || dirname(existing) === existing) {
      return { path, missing: [], fault: unusable(path, found.code) };
    }
    if (await isLink(existing)) {
      const location = await locate(dirname(existing), { followLast: true });
      const stuck = join(location.path, basename(existing), ...missing);
      return { path: stuck, missing: [], fault: location.fault ?? unusable(path, "a link in it leads nowhere") };
    }
    missing.unshift(basename(existing));
  }
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
