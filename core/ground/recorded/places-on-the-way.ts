import { isMissing } from "../errors/write-fault.ts";
import { lstat, readlink, realpath } from "../platform/files/files.ts";
import { dirname, isInside, join, resolve, sep } from "../platform/files/paths.ts";

/** Links that a path may lead through, as the kernel has it. */
const mostLinks = 40;

/**
 * Every place that decides what a path means: the links on its way, and the place where it ends. A program that
 * may write one of them may exchange what is found there.
 * @param path absolute
 */
export async function placesOnTheWay(path: string): Promise<string[]> {
  const whole = resolve(path);
  if (await isPlain(whole)) return [whole];
  const links: string[] = [];
  let at: string = sep;
  let left = whole.split(sep).filter(Boolean);
  while (left.length > 0 && links.length < mostLinks) {
    const [name = "", ...others] = left;
    const next = join(at, name);
    const target = await readlink(next).catch(() => null);
    if (target === null) {
      at = next;
      left = others;
    } else {
      links.push(next);
      left = [...resolve(at, target).split(sep).filter(Boolean), ...others];
      at = sep;
    }
  }
  return [...links, join(at, ...left)];
}

/** Whether there is no link on the way, without a look at each folder: most paths lead straight to a file, or to none yet. */
async function isPlain(path: string): Promise<boolean> {
  const real = await realpath(path).catch((error: unknown) => isMissing(error) ? "missing" : null);
  if (real !== "missing") return real === path;
  const folder = dirname(path);
  const [above, isLink] = await Promise.all([
    realpath(folder).catch(() => null),
    lstat(path).then(() => true, () => false),
  ]);
  return above === folder && !isLink;
}

/** How a path is reached, as far as those matter who may write a folder. */
export interface Road {
  /** The links in that folder that the path leads through, and the place where it ends. */
  places: readonly string[];
  /** The same for each spelling of a path that leads through the same links. */
  key: string;
}

/**
 * Returns the road to a path for those who may write a folder: links elsewhere they cannot change.
 * @param folder real absolute path
 * @param all as {@link placesOnTheWay} gives them
 */
export function roadIn(folder: string, all: readonly string[]): Road {
  const places = [...all.slice(0, -1).filter((link) => isInside(folder, link)), ...all.slice(-1)];
  return { places, key: places.join("\n") };
}
