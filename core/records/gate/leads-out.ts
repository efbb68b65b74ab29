import { isGitName } from "../../ground/platform/places/guarded-name.ts";

/** Links followed in a row before a path counts as a loop, as in Linux. */
const mostSteps = 40;

/** Way of a link of a folder. */
interface LinkWay {
  /** It leads past the top, to an absolute path elsewhere, into a git folder, or nowhere. */
  isOut: boolean;
  /** The links that it goes through, itself first. */
  via: string[];
}

/**
 * Follows a link through the other links of the same folder.
 * @param path of the link, relative to the top, with `/`
 * @param links target of every link below the top, as it is stored
 * @param top absolute path of the folder, where a target that lies in it counts as inside; null: all absolute ones are out
 */
export function wayOfLink(path: string, links: ReadonlyMap<string, string>, top: string | null = null): LinkWay {
  const at: string[] = [];
  const left = path.split("/");
  const via: string[] = [];
  while (left.length > 0) {
    const part = left.shift()!;
    if (part === "" || part === ".") continue;
    if (part === "..") {
      if (at.pop() === undefined) return { isOut: true, via };
      continue;
    }
    if (via.length > 0 && isGitName(part)) return { isOut: true, via };
    const here = [...at, part].join("/");
    const target = links.get(here);
    if (target === undefined) {
      at.push(part);
      continue;
    }
    via.push(here);
    if (via.length > mostSteps) return { isOut: true, via };
    if (!target.startsWith("/")) left.unshift(...target.split("/"));
    else if (top !== null && target.startsWith(`${top}/`)) {
      at.length = 0;
      left.unshift(...target.slice(top.length + 1).split("/"));
    } else return { isOut: true, via };
  }
  return { isOut: false, via };
}
