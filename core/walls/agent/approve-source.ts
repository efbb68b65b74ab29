import { lstat, readlink, realpath, stat } from "../../ground/platform/files/files.ts";
import { dirname, isBelow, isInside, join, relative, resolve, sep } from "../../ground/platform/files/paths.ts";
import { userId } from "../../ground/platform/files/pinned-folder.ts";
import { pathsOfMachine } from "./real-paths.ts";

/** Places that decide about the sources of a view. All paths are real. */
export interface SourceRules {
  /** Keys, the host's state, logins of other agents: neither they nor anything in them is shown. */
  hidden: readonly string[];
  /** Homes of the person: no link leads to one as a whole. */
  homes: readonly string[];
  /** Folders that the session's programs may write: links in them, and links into them, count for nothing. */
  written: readonly string[];
  /** The project: a worktree of the host's lies in its state, which is hidden, and is none of it. */
  project?: string | undefined;
  /** Records of agents at home, which agents write: as `written`, but that a link may lead to one as a whole. */
  records: readonly string[];
}

interface ApprovedSource {
  /** As it was named, without `.` and `..`. */
  named: string;
  real: string;
}

/** A place that may not, and half a sentence that says why. */
export interface LeftOut {
  named: string;
  because: string;
}

/** Makes the rules of a view. Paths need not be real, and missing ones are left out. */
export async function sourceRules(
  { hidden, homes = [], writable, records = [], project }: {
    hidden: readonly string[];
    homes?: readonly string[] | undefined;
    writable: readonly string[];
    records?: readonly string[] | undefined;
    project?: string | undefined;
  },
): Promise<SourceRules> {
  const paths = pathsOfMachine();
  const real = async (places: readonly string[]) =>
    (await Promise.all(places.map((place) => paths.of(place)))).filter((place) => place !== null);
  const [hiding, own, written, kept] = await Promise.all([real(hidden), real(homes), real(writable), real(records)]);
  return { hidden: hiding, homes: own, written, records: kept, project };
}

/** Links on the way to one place, as the kernel counts them. */
const mostLinks = 40;

/**
 * Decides whether a place may be the source of a mount, or of a copy, in an agent's view. This is the only function that
 * does. A link counts only where the person or root made it, outside all that agents write, and where it leads to a place
 * of theirs that is neither hidden nor a whole home. Hidden places win over everything else. The caller mounts the real
 * path, in which no link is left, so that one made later is refused by what makes the mount.
 * @returns null for a place that is missing
 */
export async function approveSource(path: string, rules: SourceRules): Promise<ApprovedSource | LeftOut | null> {
  const named = resolve(path);
  const real = await realpath(named).catch(() => null);
  if (real === null) return null;
  const { hidden, project } = rules;
  const isOwn = project !== undefined && isInside(project, real);
  const hides = hidden.find((place) => isInside(place, real) && !(isOwn && isInside(place, project)));
  if (hides !== undefined) return { named, because: `it lies in ${hides}, which is hidden` };
  if (real === named) return { named, real };
  const because = await whyNotThrough({ named, real }, rules);
  return because === null ? { named, real } : { named, because };
}

/** Hidden places inside a place that is mounted elsewhere: where they appear there. */
export function coveredAt({ real, at }: { real: string; at: string }, hidden: readonly string[]): Map<string, string> {
  const inside = hidden.filter((place) => isBelow(real, place));
  return new Map(inside.map((place) => [join(at, relative(real, place)), place]));
}

/** Why links on the way to a place do not count; null where they do. */
async function whyNotThrough(
  { named, real }: ApprovedSource,
  { homes, written, records }: SourceRules,
): Promise<string | null> {
  if (homes.some((home) => isInside(real, home))) return "a link leads to a whole home";
  const into = written.find((folder) => isInside(folder, real)) ?? records.find((folder) => isBelow(folder, real));
  if (into !== undefined) return `a link leads into ${into}, where agents write`;
  const owners = await ownersOf(homes);
  const links = await linksOn(named);
  if (links === null) return "it leads through too many links, or one that changed meanwhile";
  for (const link of links.found) {
    if ([...written, ...records].some((folder) => isBelow(folder, link))) {
      return `the link ${link} lies where agents write`;
    }
  }
  if (links.end !== real) return "a link on the way to it changed meanwhile";
  // The links, and the folders on the way to the end: their owners could make them lead elsewhere.
  for (const place of new Set([...links.found, ...partsOf(real)])) {
    const owner = await lstat(place).then(({ uid }) => uid, () => null);
    if (owner === null || !owners.has(owner)) return `${place} belongs to another user`;
  }
  return null;
}

/** Root, this user, and those who own a home of theirs, as where the host runs by `sudo`. */
async function ownersOf(homes: readonly string[]): Promise<ReadonlySet<number>> {
  const own = userId();
  const ofHomes = await Promise.all([sep, ...homes].map((place) => stat(place).then(({ uid }) => uid, () => 0)));
  return new Set([0, ...(own === null ? [] : [own]), ...ofHomes]);
}

/** The links that a path leads through, and its end; null where they are too many. */
async function linksOn(path: string): Promise<{ found: string[]; end: string } | null> {
  const found: string[] = [];
  let at: string = sep;
  let rest = path.split(sep).filter((part) => part !== "");
  while (rest.length > 0) {
    const [part = "", ...others] = rest;
    const next = part === ".." ? dirname(at) : part === "." ? at : join(at, part);
    const target = await readlink(next).catch(() => null);
    if (target === null) {
      at = next;
      rest = others;
      continue;
    }
    found.push(next);
    if (found.length > mostLinks) return null;
    if (target.startsWith(sep)) at = sep;
    rest = [...target.split(sep).filter((name) => name !== ""), ...others];
  }
  return { found, end: at };
}

function partsOf(real: string): string[] {
  const parts: string[] = [];
  for (let at = real; at !== dirname(at); at = dirname(at)) parts.push(at);
  return parts;
}
