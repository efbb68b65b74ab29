import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { mkdir, readdir, writeFile } from "../../ground/runtime/files.ts";
import { dirname, join } from "../../ground/runtime/paths.ts";

/**
 * Writes the files of a new package into a folder that holds nothing yet.
 * @throws {BulkheadError} `already_exists`, `io_error`
 */
export async function writePackageFolder(folder: string, files: ReadonlyMap<string, string>): Promise<void> {
  const there = await readdir(folder).catch(() => []);
  if (there.length > 0) {
    throw new BulkheadError("already_exists", `Cannot write a plugin to ${folder}: there are files in it already.`, {
      hint: "Name another folder with --folder, or remove this one.",
    });
  }
  try {
    for (const [path, text] of files) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text, { flag: "wx" });
    }
  } catch (cause) {
    throw new BulkheadError("io_error", `Cannot write a plugin to ${folder}: it is not writable.`, { cause });
  }
}
