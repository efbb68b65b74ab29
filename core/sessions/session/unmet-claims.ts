import type { Artifact } from "../../../plugin-sdk/result.ts";
import { realpath } from "../../ground/runtime/files.ts";
import { dirname, isInside, join, relative, resolve, sep } from "../../ground/runtime/paths.ts";

/**
 * Looks at the disk for all claims of a session together: a path of two thousand folders that are not there takes as
 * many. An agent that claims more is taken at its word's letter.
 */
const mostLooks = 4000;

/** Where claims are looked at, and how often that may still be done. */
interface Looks {
  workdir: string;
  left: number;
}

/**
 * The paths that an agent says it changed and git does not show, sorted, relative to the working directory where they
 * lie in it. A claim is met by a change of that path, however it is written, or of what it leads to through links; one of
 * a folder by any change below.
 * @param options `artifacts` is null where git cannot tell: then no claim is called false
 */
export async function unmetClaims(
  claimed: readonly string[],
  { workdir, artifacts }: { workdir: string; artifacts: readonly Artifact[] | null },
): Promise<string[]> {
  if (artifacts === null) return [];
  const shown = shownPaths(artifacts);
  const unmet = new Set<string>();
  const looks: Looks = { workdir, left: mostLooks };
  for (const claim of claimed) {
    const names = [nameOf(claim, workdir)];
    if (!names.some((name) => shown.has(name)) && looks.left > 0) names.push(...await realNames(claim, looks));
    if (!names.some((name) => shown.has(name))) unmet.add(names.at(-1)!);
  }
  return [...unmet].sort();
}

/** Every changed path, the old names of renames, and all folders that lead to them. */
function shownPaths(artifacts: readonly Artifact[]): Set<string> {
  const shown = new Set<string>();
  for (const { path, from } of artifacts) {
    for (const name of from === undefined ? [path] : [path, from]) {
      for (let way = name; way !== "." && !shown.has(way); way = dirname(way)) shown.add(way);
    }
  }
  return shown;
}

/** A path in one way of writing: relative with `/` where it lies in the working directory, else absolute. */
function nameOf(path: string, workdir: string): string {
  const absolute = resolve(workdir, path);
  if (!isInside(workdir, absolute)) return absolute;
  return relative(workdir, absolute).split(sep).join("/") || ".";
}

/** What a path leads to now, if it is there; last itself, with links followed only on the way to it. */
async function realNames(path: string, looks: Looks): Promise<string[]> {
  const { workdir } = looks;
  const absolute = resolve(workdir, path);
  const target = await look(absolute, looks);
  const itself = nameOf(await followWay(absolute, looks), workdir);
  return target === null ? [itself] : [nameOf(target, workdir), itself];
}

/** A path whose folders are followed through links, as far as they exist. */
async function followWay(absolute: string, looks: Looks): Promise<string> {
  for (let way = absolute; dirname(way) !== way && looks.left > 0; way = dirname(way)) {
    const folder = await look(dirname(way), looks);
    if (folder !== null) return join(folder, relative(dirname(way), absolute));
  }
  return absolute;
}

/** The real path of what is there; null where nothing is. */
function look(path: string, looks: Looks): Promise<string | null> {
  looks.left--;
  return realpath(path).catch(() => null);
}
