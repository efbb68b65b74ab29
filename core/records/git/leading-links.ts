import { foldName } from "../../ground/runtime/fold-name.ts";
import { pathText, rawChanges } from "./raw-diff.ts";
import { eachInShadow, gitInShadow, type ShadowCall, type ShadowRepository, topOf } from "./shadow-repository.ts";

/** A symbolic link of a tree. */
interface TreeLink {
  /** Relative to the top of the repository. */
  path: string;
  /** Target as stored in the link. */
  target: string;
}

const linkMode = "120000";

/** Links followed in a row before a path counts as a loop, as in Linux. */
const mostSteps = 40;

/**
 * The links of a tree that lead out of the repository, or into its `.git`: past its top, to an absolute path, or by way
 * of other links of the tree.
 * @throws {BulkheadError} `io_error`
 */
async function linksOut(shadow: ShadowRepository, tree: string, call: ShadowCall): Promise<TreeLink[]> {
  const atTop = { ...call, cwd: topOf(shadow) };
  const entries: [path: string, id: string][] = [];
  const take = (entry: Uint8Array) => {
    const [head = "", ...rest] = pathText(entry).split("\t");
    const [mode, , id] = head.split(" ");
    if (mode === linkMode && id !== undefined) entries.push([rest.join("\t"), id]);
  };
  await eachInShadow(shadow, ["ls-tree", "-r", "-z", tree], { ...atTop, take });
  const found: [path: string, target: string][] = [];
  for (const [path, id] of entries) {
    found.push([path, pathText(await gitInShadow(shadow, ["cat-file", "blob", id], atTop))]);
  }
  const links = new Map(found);
  return found.filter(([path]) => leadsOut(path, links)).map(([path, target]) => ({ path, target }));
}

/** Links of {@link linksOut} in one tree that another lacks; none where no link was made or changed. */
export async function newLinksOut(
  shadow: ShadowRepository,
  { before, after, call }: { before: string; after: string; call: ShadowCall },
): Promise<TreeLink[]> {
  const changes = await rawChanges(shadow, { from: before, to: after, call });
  if (!changes.some(({ oldMode, newMode }) => oldMode === linkMode || newMode === linkMode)) return [];
  const known = await linksOut(shadow, before, call);
  const now = await linksOut(shadow, after, call);
  return now.filter(({ path, target }) => !known.some((one) => one.path === path && one.target === target));
}

function leadsOut(path: string, links: ReadonlyMap<string, string>): boolean {
  const at: string[] = [];
  const left = path.split("/");
  for (let steps = 0; left.length > 0;) {
    const part = left.shift()!;
    if (part === "" || part === ".") continue;
    if (part === "..") {
      if (at.pop() === undefined) return true;
      continue;
    }
    if (at.length === 0 && foldName(part) === ".git") return true;
    const target = links.get([...at, part].join("/"));
    if (target === undefined) {
      at.push(part);
      continue;
    }
    if (target.startsWith("/") || ++steps > mostSteps) return true;
    left.unshift(...target.split("/"));
  }
  return false;
}
