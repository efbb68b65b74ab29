import { join, resolve } from "../../../ground/runtime/paths.ts";
import { readPlainFile } from "../../../ground/runtime/read-plain-file.ts";
import { approvedSource, type ClosedPlaces, refused } from "./git-folder.ts";

/** Text of the file that names folders of objects to borrow from, quoted as git reads it. */
export function alternatesText(folders: readonly string[]): string {
  return folders.map((path) => `"${path.replace(/["\\]/g, "\\$&").replace(/\n/g, "\\n")}"\n`).join("");
}

/** Folders of objects that one repository may borrow from, one after another. */
const mostAlternates = 16;

/**
 * The folders of objects of a repository: its own, and those that it borrows from, which are sources of mounts as well.
 * @throws {BulkheadError} `unsupported`
 */
export async function objectFolders(commonDir: string, places: ClosedPlaces): Promise<string[]> {
  const folders = [join(commonDir, "objects")];
  for (let at = 0; at < folders.length; at++) {
    const file = join(folders[at]!, "info/alternates");
    const bytes = await readPlainFile(file, 65_536);
    const lines = bytes === null ? [] : new TextDecoder().decode(bytes).split("\n");
    for (const line of lines.filter((text) => text !== "" && !text.startsWith("#"))) {
      if (line.startsWith('"')) throw refused(commonDir, "it borrows objects from a folder with an unusual name");
      const folder = await approvedSource(resolve(folders[at]!, line), places);
      if (!folders.includes(folder)) folders.push(folder);
      if (folders.length > mostAlternates) throw refused(commonDir, "it borrows objects from too many folders");
    }
  }
  return folders;
}
