import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { lstat, readdir, readFile, realpath } from "../../ground/platform/files/files.ts";
import { isBelow, join } from "../../ground/platform/files/paths.ts";
import type { PackedFile } from "./tarball.ts";

/** Files that belong to every package that has them. */
const always = ["README.md", "conformance.yaml", "LICENSE", "LICENSE.md", "CHANGELOG.md"];
/** Files that packing makes itself. */
const made = ["plugin.yaml", "package.json", "plugin.schema.json", "integrity.json", "jsr.json"];
/** Files of a package's author that never belong to the package; npm leaves these out as well. */
const ownersOwn = ["node_modules", ".git", ".hg", ".svn", "CVS", ".npmrc", ".DS_Store"];
const maxFiles = 1000;
const maxBytes = 64 * 1024 * 1024;

/** Files that a package takes from its folder beside its code. */
interface ListedFiles {
  files: PackedFile[];
  /** Paths of files that hold secrets by their name, and are in no package. */
  leftOut: string[];
}

/**
 * The files that a plugin's `package.json` lists beside its code: names, folders and `*.ext` of the folder itself. No
 * link is followed out of the folder. Left out are TypeScript, since the one script holds it, and what is never for
 * others: repositories, `node_modules`, `.npmrc`, `.env`.
 * @throws {BulkheadError} `not_found` for a name that is not there; `invalid_manifest` for one that leads out of the
 * folder, is no file, or is one of secrets; `too_large`
 */
export async function listedFiles(folder: string, listed: readonly string[]): Promise<ListedFiles> {
  const names = await readdir(folder);
  const wanted = new Set(always.filter((name) => names.includes(name)));
  for (const entry of listed) {
    for (const path of await pathsOf(folder, entry, names)) wanted.add(path);
  }
  const named = listed.map(cleaned).find((path) => holdsSecrets(path));
  if (named !== undefined) throw secret(named);
  const all = [...wanted].filter((path) => !made.includes(path) && !/\.[cm]?ts$/.test(path)).sort();
  const paths = all.filter((path) => !holdsSecrets(path));
  if (paths.length > maxFiles) throw tooLarge(`${paths.length} files, and at most ${maxFiles} are allowed`);
  const files: PackedFile[] = [];
  let total = 0;
  for (const path of paths) {
    const file = join(folder, path);
    if (!isBelow(await realpath(folder), await realpath(file))) throw outside(path);
    const info = await lstat(await realpath(file));
    if (!info.isFile()) throw new BulkheadError("invalid_manifest", `Cannot pack "${path}": it is no file.`);
    total += info.size;
    if (total > maxBytes) throw tooLarge(`more than ${maxBytes} bytes`);
    files.push({ path, bytes: new Uint8Array(await readFile(file)), executable: (info.mode & 0o100) !== 0 });
  }
  return { files, leftOut: all.filter(holdsSecrets) };
}

/** Whether a file of this name holds what only its owner may know; an example of one does not. */
function holdsSecrets(path: string): boolean {
  return /(?:^|\/)\.env(?:\.(?!(?:example|sample|template)$)[^/]*)?$/.test(path);
}

function cleaned(entry: string): string {
  return entry.replace(/^\.\//, "").replace(/\/$/, "");
}

async function pathsOf(folder: string, entry: string, names: readonly string[]): Promise<string[]> {
  const path = cleaned(entry);
  if (path.startsWith("!")) return [];
  if (path.startsWith("/") || path.split("/").includes("..")) throw outside(entry);
  const [, ending] = /^\*(\.\w+)$/.exec(path) ?? [];
  if (ending !== undefined) return names.filter((name) => name.endsWith(ending));
  if (path.includes("*")) {
    throw new BulkheadError("invalid_manifest", `Cannot pack "${entry}": of patterns only "*.ending" is understood.`, {
      hint: "Name the file or its folder under files in package.json.",
    });
  }
  const info = await lstat(join(folder, path)).catch(() => null);
  if (info === null && made.includes(path)) return [];
  if (info === null) {
    throw new BulkheadError("not_found", `Cannot pack "${entry}": package.json lists it, and it is not there.`);
  }
  if (!info.isDirectory()) return [path];
  const inside = await readdir(join(folder, path), { withFileTypes: true, recursive: true });
  return inside.filter((one) => !one.isDirectory()).map((one) =>
    join(one.parentPath, one.name).slice(folder.length + 1).replaceAll("\\", "/")
  ).filter((one) => !one.split("/").some((name) => ownersOwn.includes(name)));
}

function outside(path: string): BulkheadError {
  return new BulkheadError("invalid_manifest", `Cannot pack "${path}": it leads out of the plugin's folder.`);
}

function secret(path: string): BulkheadError {
  return new BulkheadError("invalid_manifest", `Cannot pack "${path}": a file of that name holds secrets.`, {
    hint: "Take it out of files in package.json. What others are to fill in can be .env.example.",
  });
}

function tooLarge(why: string): BulkheadError {
  return new BulkheadError("too_large", `Cannot pack the plugin: it has ${why}.`);
}
