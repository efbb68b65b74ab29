import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { lstat, readdir } from "../../ground/runtime/files.ts";
import { join } from "../../ground/runtime/paths.ts";
import { readPlainFile } from "../../ground/runtime/read-plain-file.ts";
import { PackageCollector, type PackageFiles, type PackageLimits } from "./package-files.ts";

/** Left out: what belongs to a repository, and the links to programs that a package manager makes. */
const leftOut =
  /^(\.git|\.hg|\.svn|\.DS_Store|node_modules\/\.bin|node_modules\/\.cache|node_modules\/\.package-lock\.json)$/;

/**
 * Reads a package from a folder, the packages in its `node_modules` included. Links are refused: what is installed must
 * lie in it.
 * @throws {BulkheadError} `invalid_package`, `too_large`, `not_found`, `io_error`
 */
export async function readFolder(
  folder: string,
  { name, limits }: { name: string; limits: PackageLimits },
): Promise<PackageFiles> {
  const collector = new PackageCollector(name, limits);
  await readInto(folder, { path: "", collector, limits });
  return collector.files();
}

async function readInto(
  root: string,
  { path, collector, limits }: { path: string; collector: PackageCollector; limits: PackageLimits },
): Promise<void> {
  for (const entry of (await names(join(root, path))).sort()) {
    const own = path === "" ? entry : `${path}/${entry}`;
    if (leftOut.test(own)) continue;
    const found = await lstat(join(root, own));
    if (found.isDirectory()) {
      collector.claim(own, { kind: "folder", bytes: 0 });
      await readInto(root, { path: own, collector, limits });
      continue;
    }
    if (!found.isFile()) throw collector.refusal(own, "is no plain file or folder");
    collector.claim(own, { kind: "file", bytes: found.size });
    const bytes = await readPlainFile(join(root, own), limits.package_unpacked_bytes);
    if (bytes === null || bytes.length !== found.size) throw collector.refusal(own, "changed while it was read");
    collector.add(own, bytes);
  }
}

async function names(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (cause) {
    const missing = cause instanceof Error && "code" in cause && (cause.code === "ENOENT" || cause.code === "ENOTDIR");
    throw new BulkheadError(missing ? "not_found" : "io_error", `Cannot read the plugin in ${folder}.`, { cause });
  }
}
