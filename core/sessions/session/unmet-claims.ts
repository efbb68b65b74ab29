import type { Artifact } from "../../../plugin-sdk/result.ts";
import { pathText, type RawChange } from "../../records/git/raw-diff.ts";
import { realpath } from "../../ground/platform/files/files.ts";
import { dirname, isInside, join, relative, resolve, sep } from "../../ground/platform/files/paths.ts";

/** Most disk look-ups for all claims of a session together. Later claims are compared only by name. */
const mostLooks = 4000;

/** Working directory of the claims, and the look-ups left. */
interface Looks {
  workdir: string;
  left: number;
}

/**
 * Returns the paths that an agent says it changed and git does not show, sorted, relative to the working directory if
 * they lie inside it. A change of that path in any spelling, or of its link target, meets a claim; a change of any file
 * below meets the claim of a folder.
 * @param options `artifacts` is null when git cannot tell: then no claim counts as false; `others` are the changes that they
 * leave out
 */
export async function unmetClaims(
  claimed: readonly string[],
  { workdir, artifacts, others = [] }: {
    workdir: string;
    artifacts: readonly Artifact[] | null;
    others?: readonly Pick<RawChange, "path" | "from">[];
  },
): Promise<string[]> {
  if (artifacts === null || claimed.length === 0) return [];
  const shown = shownPaths(artifacts, others);
  const unmet = new Set<string>();
  const looks: Looks = { workdir, left: mostLooks };
  for (const claim of claimed) {
    const names = [nameOf(claim, workdir)];
    if (!names.some((name) => shown.has(name)) && looks.left > 0) names.push(...await realNames(claim, looks));
    if (!names.some((name) => shown.has(name))) unmet.add(names.at(-1)!);
  }
  return [...unmet].sort();
}

/** Returns every changed path, the old names of renames, and all their parent folders. */
function shownPaths(artifacts: readonly Artifact[], others: readonly Pick<RawChange, "path" | "from">[]): Set<string> {
  const shown = new Set<string>();
  const show = (name: string) => {
    for (let way = name; way !== "." && !shown.has(way); way = dirname(way)) shown.add(way);
  };
  for (const { path, from } of artifacts) {
    show(path);
    if (from !== undefined) show(from);
  }
  for (const { path, from } of others) {
    show(pathText(path));
    if (from !== null) show(pathText(from));
  }
  return shown;
}

/** Normalises a path: relative with `/` if it lies in the working directory, else absolute. */
function nameOf(path: string, workdir: string): string {
  const absolute = resolve(workdir, path);
  if (!isInside(workdir, absolute)) return absolute;
  return relative(workdir, absolute).split(sep).join("/") || ".";
}

/**
 * Returns the path's current target, if it exists, and last the path itself with links followed only in its folders.
 */
async function realNames(path: string, looks: Looks): Promise<string[]> {
  const { workdir } = looks;
  const absolute = resolve(workdir, path);
  const target = await look(absolute, looks);
  const itself = nameOf(await followWay(absolute, looks), workdir);
  return target === null ? [itself] : [nameOf(target, workdir), itself];
}

/** Follows links in a path's folders, as far as they exist. */
async function followWay(absolute: string, looks: Looks): Promise<string> {
  for (let way = absolute; dirname(way) !== way && looks.left > 0; way = dirname(way)) {
    const folder = await look(dirname(way), looks);
    if (folder !== null) return join(folder, relative(dirname(way), absolute));
  }
  return absolute;
}

/** Returns a path's real path; null when it does not exist. */
function look(path: string, looks: Looks): Promise<string | null> {
  looks.left--;
  return realpath(path).catch(() => null);
}
