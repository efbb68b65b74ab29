import { readdir, writeFile } from "../../ground/platform/files/files.ts";
import { basename, join } from "../../ground/platform/files/paths.ts";
import { readPlainText } from "../../ground/platform/files/read-plain-file.ts";
import { projectMarker } from "./kept-empty.ts";

interface ProjectFolderOptions {
  /** Working directory that the folder's marker names. */
  workdir: string;
  /** Path of the records in the folder. */
  records: string;
  /** Makes missing folders, each with those above it. */
  keepAtHome(folders: readonly string[]): Promise<void>;
}

/** Folders that are looked at before the last one is taken as it is. */
const mostTries = 1000;

/** Path of a project's own records, below a folder of all. A missing one is made, by one of two at once. */
export async function projectFolder(folder: string, options: ProjectFolderOptions): Promise<string> {
  const { workdir, records, keepAtHome } = options;
  const { own, taken } = await foldersIn(folder, workdir);
  const plain = basename(workdir).toLowerCase().replaceAll(/[^a-z0-9]+/g, "-").replaceAll(/^-|-$/g, "") || "project";
  let name = own ?? plain;
  for (let count = 1; count < mostTries; count++) {
    if (!taken.has(name)) {
      await keepAtHome([join(folder, name, records)]);
      if (await marks(join(folder, name), workdir)) break;
    }
    name = `${plain}-${count}`;
  }
  return join(folder, name, records);
}

async function foldersIn(folder: string, workdir: string): Promise<{ own: string | null; taken: Set<string> }> {
  const taken = new Set<string>();
  for (const name of await readdir(folder).catch(() => [])) {
    if (await markedFor(join(folder, name)) === workdir) return { own: name, taken };
    taken.add(name);
  }
  return { own: null, taken };
}

/** Whether a folder is the working directory's; one without a marker becomes it. */
async function marks(folder: string, workdir: string): Promise<boolean> {
  const file = join(folder, projectMarker);
  const isWritten = await writeFile(file, workdir, { flag: "wx", mode: 0o600 }).then(() => true, () => false);
  return isWritten || await markedFor(folder) === workdir;
}

async function markedFor(folder: string): Promise<string | undefined> {
  return (await readPlainText(join(folder, projectMarker), 4096))?.trim();
}
