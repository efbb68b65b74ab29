import { plainText } from "../look-at.ts";
import { basename, dirname, join } from "../../../ground/platform/files/paths.ts";
import { fewAtOnce, fewEntries } from "./few-entries.ts";
import { readdir } from "../../../ground/platform/files/files.ts";

/** Refs of a git folder, read as data: nothing that they say is believed before git has looked at the objects. */
export interface Refs {
  /** Object ids by full name. */
  ids: Map<string, string>;
  /** Names of refs that name another ref, with that one. */
  symbolic: Map<string, string>;
  /** How many were left out: no plain files, names that git refuses, beyond the bound. */
  omitted: number;
}

/** Refs that are read of one git folder, and bytes of packed ones. */
const mostRefs = 100_000;
const maxPackedBytes = 32 * 1024 * 1024;

/** Deepest folder below `refs`. */
const deepest = 32;

/** Reads loose and packed refs; a loose one wins. Links, pipes and sockets are left out. */
export async function readRefs(commonDir: string): Promise<Refs> {
  const refs: Refs = { ids: new Map(), symbolic: new Map(), omitted: 0 };
  const [packed] = await Promise.all([
    plainText(join(commonDir, "packed-refs"), maxPackedBytes),
    readLoose(refs, { folder: join(commonDir, "refs"), name: "refs", depth: 0 }),
  ]);
  addPacked(refs, packed);
  return refs;
}

/** Reads refs in the form of a file of packed ones. */
export function parsePackedRefs(text: string): Refs {
  const refs: Refs = { ids: new Map(), symbolic: new Map(), omitted: 0 };
  addPacked(refs, text);
  return refs;
}

/** Writes refs as a file of packed ones. Without a header git sorts and peels them by itself. */
export function packedRefsText({ ids }: Pick<Refs, "ids">): string {
  return [...ids].map(([name, id]) => `${id} ${name}\n`).join("");
}

function addPacked(refs: Refs, text: string): void {
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith("#") || line.startsWith("^")) continue;
    const at = line.indexOf(" ");
    const [id, name] = [line.slice(0, at), line.slice(at + 1)];
    if (refs.ids.has(name) || refs.symbolic.has(name)) continue;
    if (isObjectId(id) && isRefName(name) && refs.ids.size < mostRefs) refs.ids.set(name, id);
    else refs.omitted += 1;
  }
}

async function readLoose(
  refs: Refs,
  { folder, name, depth }: { folder: string; name: string; depth: number },
): Promise<void> {
  const left = () => mostRefs - refs.ids.size - refs.symbolic.size - refs.omitted;
  if (left() <= 0) return;
  const entries = await fewEntries(folder, left());
  await fewAtOnce(entries.filter((entry) => !entry.isDirectory() && !entry.name.endsWith(".lock")), async (entry) => {
    const below = `${name}/${entry.name}`;
    const text = entry.isFile() && isRefName(below) ? await refText(join(folder, entry.name)) : "";
    const target = symbolicTarget(text);
    if (isObjectId(text)) refs.ids.set(below, text);
    else if (target !== null) refs.symbolic.set(below, target);
    else refs.omitted += 1;
  });
  for (const entry of entries.filter((one) => one.isDirectory() && depth < deepest)) {
    await readLoose(refs, { folder: join(folder, entry.name), name: `${name}/${entry.name}`, depth: depth + 1 });
  }
}

/** The only line of a ref's file, such as HEAD; empty where there is none. */
export async function refText(path: string): Promise<string> {
  return (await plainText(path, 4096)).replace(/\s+$/, "");
}

/** The ref that a ref's text names; null where it names none. */
export function symbolicTarget(text: string): string | null {
  const name = /^ref:\s*(.+)$/.exec(text)?.[1];
  return name !== undefined && isRefName(name) ? name : null;
}

/** Whether a text is an object id. */
export function isObjectId(text: string): boolean {
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text) && !/^0+$/.test(text);
}

/** Whether a full name of a ref is one by git's rules (git-check-ref-format(1)), and one that a terminal shows as it is. */
function isRefName(name: string): boolean {
  if (name.length > 1000 || !name.startsWith("refs/") || /[\p{C}\p{Z}~^:?*[\\]/u.test(name)) return false;
  if (name.includes("..") || name.includes("@{") || name.endsWith(".")) return false;
  const parts = name.split("/");
  return parts.length > 2 && parts.every((part) => part !== "" && !part.startsWith(".") && !part.endsWith(".lock"));
}

/** Branches that work trees of a repository have checked out, or are rebasing, with the git folder of each work tree. */
export async function checkedOut(commonDir: string): Promise<Map<string, string>> {
  const names = await readdir(join(commonDir, "worktrees")).catch(() => []);
  const folders = [commonDir, ...names.map((name) => join(commonDir, "worktrees", name))];
  const found = await Promise.all(folders.map(async (folder) => {
    const [head, merging, applying] = await Promise.all(
      ["HEAD", "rebase-merge/head-name", "rebase-apply/head-name"].map((file) => refText(join(folder, file))),
    );
    return [symbolicTarget(head!), merging!, applying!].map((name) => [name, folder] as const);
  }));
  return new Map(found.flat().filter((one): one is [string, string] => one[0] !== null && one[0] !== ""));
}

/** Top of a work tree, by its git folder; null where that does not say it. */
export async function topOf(gitDir: string, commonDir: string): Promise<string | null> {
  if (gitDir === commonDir) return basename(gitDir) === ".git" ? dirname(gitDir) : null;
  const entry = await refText(join(gitDir, "gitdir"));
  return entry === "" ? null : dirname(entry);
}
