import { BulkheadError } from "../../plugin-sdk/errors.ts";
import { lstat, readdir, readFile, realpath } from "../runtime/files.ts";
import { join } from "../runtime/paths.ts";
import { isInside } from "../registry/read-manifest.ts";
import type { PackedFile } from "./tarball.ts";

/** Files that belong to every package that has them. */
const always = ["README.md", "conformance.yaml", "LICENSE", "LICENSE.md", "CHANGELOG.md"];
/** Files that packing makes itself. */
const made = ["plugin.yaml", "package.json", "plugin.schema.json", "integrity.json", "jsr.json"];
const maxFiles = 1000;
const maxBytes = 64 * 1024 * 1024;

/**
 * The files that a plugin's `package.json` lists beside its code: names, folders and `*.ext` of the folder itself. No
 * link is followed out of the folder, and TypeScript is left out, since the one script holds it.
 * @throws {BulkheadError} `not_found` for a name that is not there; `invalid_manifest` for one that leads out of the
 * folder; `too_large`
 */
export async function listedFiles(folder: string, listed: readonly string[]): Promise<PackedFile[]> {
  const names = await readdir(folder);
  const wanted = new Set(always.filter((name) => names.includes(name)));
  for (const entry of listed) {
    for (const path of await pathsOf(folder, entry, names)) wanted.add(path);
  }
  const paths = [...wanted].filter((path) => !made.includes(path) && !/\.[cm]?ts$/.test(path)).sort();
  if (paths.length > maxFiles) throw tooLarge(`${paths.length} files, and at most ${maxFiles} are allowed`);
  const files: PackedFile[] = [];
  let total = 0;
  for (const path of paths) {
    const file = join(folder, path);
    if (!isInside(await realpath(folder), await realpath(file))) throw outside(path);
    const info = await lstat(await realpath(file));
    total += info.size;
    if (total > maxBytes) throw tooLarge(`more than ${maxBytes} bytes`);
    files.push({ path, bytes: new Uint8Array(await readFile(file)), executable: (info.mode & 0o100) !== 0 });
  }
  return files;
}

async function pathsOf(folder: string, entry: string, names: readonly string[]): Promise<string[]> {
  const path = entry.replace(/^\.\//, "").replace(/\/$/, "");
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
  ).filter((one) => !one.split("/").includes("node_modules"));
}

function outside(path: string): BulkheadError {
  return new BulkheadError("invalid_manifest", `Cannot pack "${path}": it leads out of the plugin's folder.`);
}

function tooLarge(why: string): BulkheadError {
  return new BulkheadError("too_large", `Cannot pack the plugin: it has ${why}.`);
}
