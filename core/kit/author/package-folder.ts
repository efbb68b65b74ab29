import { writeFiles } from "../../ground/platform/files/write-new-file.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { mkdir, readdir, rename, rm } from "../../ground/platform/files/files.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import { basename, dirname, join } from "../../ground/platform/files/paths.ts";
import { readManifest } from "../../packages/manifest/read-manifest.ts";

interface NewPackage {
  /** Its own folder, which must hold nothing yet. */
  folder: string;
  files: ReadonlyMap<string, string>;
}

/**
 * Writes new plugins, all or none: they are written and read beside their place, and then moved there.
 * @throws {BulkheadError} `already_exists`, `io_error`, `invalid_manifest`
 */
export async function writePackageFolders(packages: readonly NewPackage[], { hint }: { hint: string }): Promise<void> {
  for (const { folder } of packages) await demandEmpty(folder, hint);
  const moved: string[] = [];
  const drafts = packages.map((one) => ({
    ...one,
    made: "",
    parent: join(dirname(one.folder), `.writing-${randomId()}`),
  }));
  try {
    for (const draft of drafts) {
      draft.made = await mkdir(dirname(draft.folder), { recursive: true }) ?? "";
      const written = join(draft.parent, basename(draft.folder));
      await writeFiles(written, draft.files, { flag: "wx" });
      await readManifest(written);
    }
    for (const { folder, parent } of drafts) {
      await rename(join(parent, basename(folder)), folder);
      moved.push(folder);
    }
  } catch (cause) {
    await Promise.all(moved.map((folder) => rm(folder, { recursive: true, force: true })));
    await removeAll(drafts.flatMap(({ parent, made }) => (made === "" ? [parent] : [parent, made])));
    if (cause instanceof BulkheadError) throw cause;
    const [{ folder } = { folder: "its folder" }] = packages;
    throw new BulkheadError("io_error", `Cannot write a plugin to ${folder}: it is not writable.`, { cause });
  }
  await removeAll(drafts.map(({ parent }) => parent));
}

async function demandEmpty(folder: string, hint: string): Promise<void> {
  const there = await readdir(folder).catch(() => []);
  if (there.length === 0) return;
  throw new BulkheadError(
    "already_exists",
    `Cannot write a plugin to ${folder}: there are files in it already.`,
    { hint },
  );
}

async function removeAll(folders: readonly string[]): Promise<void> {
  for (const folder of folders) await rm(folder, { recursive: true, force: true }).catch(() => {});
}
