import { installedFolder, lockFileOf, lockText, readLock } from "../registry/plugin-lock.ts";
import type { PluginLock } from "../registry/lock-format.ts";
import { mkdir, readFile, realpath, stat } from "../../ground/runtime/files.ts";
import { withLockFile } from "../../ground/runtime/lock-file.ts";
import { join } from "../../ground/runtime/paths.ts";
import { replaceFile } from "../../ground/runtime/replace-file.ts";
import { recordEdit } from "../registry/manifest-edits.ts";

/** The host manifest's text and its lock, while no other process changes them. */
export interface ManifestState {
  /** Real path of the host manifest. */
  file: string;
  text: string;
  lock: PluginLock;
  /** Folder of the plugins installed beside it. */
  installed: string;
  /** Writes the host manifest, all of it or nothing. */
  writeText(text: string): Promise<void>;
  /** Writes the lock, all of it or nothing. */
  writeLock(lock: PluginLock): Promise<void>;
}

const longestWaitMs = 60_000;

/**
 * Runs a change of a host manifest or its lock, alone among all processes. Each of the two files is replaced at once, so
 * a process killed meanwhile leaves each file either old or new.
 * @throws {BulkheadError} `busy` when another change does not end
 */
export async function changeManifest<T>(
  manifestFile: string,
  change: (state: ManifestState) => Promise<T>,
): Promise<T> {
  const file = await realpath(manifestFile);
  const installed = await installedFolder(file);
  await mkdir(installed, { recursive: true, mode: 0o755 });
  const turn = { what: "what is installed", waitMs: longestWaitMs };
  return await withLockFile(join(installed, "lock"), turn, async () => {
    const { mode } = await stat(file);
    const replace = async (path: string, after: string, bits: number): Promise<void> => {
      await recordEdit(installed, { before: await readFile(path, "utf8").catch(() => null), after });
      await replaceFile(path, after, bits);
    };
    return await change({
      file,
      installed,
      text: await readFile(file, "utf8"),
      lock: await readLock(file),
      writeText: (text) => replace(file, text, mode & 0o777),
      writeLock: (lock) => replace(lockFileOf(file), lockText(lock), 0o644),
    });
  });
}
