// Writing what a build makes, so that whoever runs it meanwhile sees the old or the new, whole.
import { Buffer } from "node:buffer";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

/** The project's folder. */
export const root = process.env.BULKHEAD_BUILD_ROOT ?? fileURLToPath(new URL("..", import.meta.url));

/** Makes a folder hold these files, and no others whose name fits `own`. */
export async function writeFolder(folder, outputFiles, own = /^/) {
  const wanted = new Map(outputFiles.map(({ path, contents }) => [path, contents]));
  for (const [path, contents] of wanted) await writeIfChanged(path, contents);
  for (const path of await listFiles(folder)) {
    if (!wanted.has(path) && own.test(path)) await rm(path);
  }
}

/** All files below a folder, but the drafts of a build that runs meanwhile. */
export async function listFiles(folder) {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(unlessMissing) ?? [];
  const files = entries.filter((entry) => entry.isFile() && !/\.\d+\.tmp$/.test(entry.name));
  return files.map((entry) => join(entry.parentPath, entry.name));
}

export function unlessMissing(error) {
  if (error.code !== "ENOENT") throw error;
}

/** Replaces a file in one step. */
async function writeIfChanged(path, contents) {
  const old = await readFile(path).catch(unlessMissing);
  if (old !== undefined && Buffer.compare(old, contents) === 0) return;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(`${path}.${process.pid}.tmp`, contents);
  await rename(`${path}.${process.pid}.tmp`, path);
}
