import { readlink, realpath } from "../runtime/files.ts";
import { basename, dirname, join, resolve, sep } from "../runtime/paths.ts";

/** Links that a path may lead through, as the kernel has it. */
const mostLinks = 40;

/**
 * Every place that decides what a path means: the links on its way, and the place where it ends. Whoever may write one
 * of them may exchange what is found there.
 * @param path absolute
 */
export async function placesOnTheWay(path: string): Promise<string[]> {
  const whole = resolve(path);
  if (await realpath(whole).catch(() => null) === whole) return [whole];
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

/** The name under which a path is recorded: the same for each spelling, and the entry itself where that is a link. */
export async function recordedName(path: string): Promise<string> {
  const whole = resolve(path);
  const folder = dirname(whole);
  return join(await realpath(folder).catch(() => folder), basename(whole));
}
