import { digestFile } from "../../ground/platform/files/file-digest.ts";
import { readFile, realpath } from "../../ground/platform/files/files.ts";
import { sha256Hex } from "../../ground/platform/files/hash.ts";
import { isBelow, join } from "../../ground/platform/files/paths.ts";
import { replaceFile } from "../../ground/platform/files/replace-file.ts";
import { installedFolder, lockFileOf } from "./plugin-lock.ts";

/** Name of the file with the last edits: a line each, with the digests of the content before and after. */
const fileName = "edits";
const mostEdits = 200;

/**
 * Records that Bulkhead is about to replace the host manifest or its lock. Call it before the file is written: then no
 * session ends in between and takes the edit for its agent's.
 * @param before the content until now; null for a file that is not there
 */
export async function recordEdit(
  installed: string,
  { before, after }: { before: string | null; after: string },
): Promise<void> {
  const edit = `${before === null ? absent : sha256Hex(before)} ${sha256Hex(after)}`;
  const edits = [...await readEdits(installed), edit].slice(-mostEdits);
  await replaceFile(join(installed, fileName), `${edits.join("\n")}\n`);
}

/** Takes paths out of a list that Bulkhead alone has changed. */
export type OwnEditFilter = <T extends { path: string }>(changes: readonly T[]) => Promise<T[]>;

/**
 * Watches the host manifest and its lock from now on. The function it returns takes those two out of a session's
 * artifacts where Bulkhead alone has changed them since, for example because a person answered "always".
 * @param workdir real absolute path that the artifacts' paths are below
 */
export async function watchManifest(
  manifestFile: string | undefined,
  workdir: string,
): Promise<OwnEditFilter> {
  if (manifestFile === undefined) return (artifacts) => Promise.resolve([...artifacts]);
  const file = await realpath(manifestFile).catch(() => manifestFile);
  const paths = [file, lockFileOf(file)].filter((path) => isBelow(workdir, path));
  const before = new Map(await Promise.all(paths.map(async (path) => [path, await digestOf(path)] as const)));
  return async (artifacts) => {
    const ours = new Set<string>();
    for (const { path } of artifacts) {
      const from = before.get(join(workdir, path));
      if (from !== undefined && await isOwnEdit(file, { from, to: await digestOf(join(workdir, path)) })) {
        ours.add(path);
      }
    }
    return artifacts.filter(({ path }) => !ours.has(path));
  };
}

/** Whether recorded edits alone lead from one content to the other. */
async function isOwnEdit(manifestFile: string, { from, to }: { from: string; to: string }): Promise<boolean> {
  const edits = await readEdits(await installedFolder(manifestFile));
  const reached = edits.map((edit) => edit.split(" "))
    .reduce((content, [before, after]) => before === content && after !== undefined ? after : content, from);
  return from !== to && reached === to;
}

async function readEdits(installed: string): Promise<string[]> {
  const text = await readFile(join(installed, fileName), "utf8").catch(() => "");
  return text.split("\n").filter(Boolean);
}

const absent = "-";

async function digestOf(path: string): Promise<string> {
  return (await digestFile(path, { maxBytes: 16 * 1024 * 1024 }))?.sha256 ?? absent;
}
