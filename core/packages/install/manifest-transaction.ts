import { installedFolder, lockFileOf, lockText, readLock } from "../manifest/plugin-lock.ts";
import type { PluginLock } from "../manifest/lock-format.ts";
import { mkdir, readFile, realpath, stat } from "../../ground/platform/files/files.ts";
import { withLockFile } from "../../ground/platform/state/lock-file.ts";
import type { ActedOnKind } from "../../ground/recorded/acted-on-kinds.ts";
import { demandRecorded } from "../../ground/recorded/demand-recorded.ts";
import { writeRecorded } from "../../ground/recorded/write-recorded.ts";
import { sha256Hex } from "../../ground/platform/files/hash.ts";
import { join, resolve } from "../../ground/platform/files/paths.ts";
import { recordEdit } from "../manifest/manifest-edits.ts";

/** The host manifest's text and its lock, while no other process changes them. */
export interface ManifestState {
  /** Real path of the host manifest. */
  file: string;
  text: string;
  /**
   * Reads its lock: one that is broken stands only in the way of changes that need it.
   * @throws {BulkheadError} as `readLock()`
   */
  readLock(): Promise<PluginLock>;
  /** Folder of the plugins installed beside it. */
  installed: string;
  /** Writes the host manifest, all of it or nothing. */
  writeText(text: string): Promise<void>;
  /** Writes the lock, all of it or nothing. */
  writeLock(lock: PluginLock): Promise<void>;
}

interface Replaced {
  kind: ActedOnKind;
  /** Mode of a file that is made. */
  bits: number;
}

const longestWaitMs = 60_000;

/**
 * Runs a change of a host manifest or its lock, alone among all processes. Each of the two files is replaced at once, so
 * a process killed meanwhile leaves each file either old or new; while a contained session runs they are written in place.
 * @throws {BulkheadError} `busy` when another change does not end, `unaccepted_change`
 */
export async function changeManifest<T>(
  manifestFile: string,
  change: (state: ManifestState) => Promise<T>,
): Promise<T> {
  const named = resolve(manifestFile);
  const file = await realpath(named);
  const installed = await installedFolder(file);
  await mkdir(installed, { recursive: true, mode: 0o755 });
  const turn = { what: "what is installed", waitMs: longestWaitMs };
  return await withLockFile(join(installed, "lock"), turn, async () => {
    const { mode } = await stat(file);
    const replace = async (path: string, after: string, { kind, bits }: Replaced): Promise<void> => {
      await recordEdit(installed, { before: await readFile(path, "utf8").catch(() => null), after });
      await writeRecorded(path, { kind, text: after, mode: bits });
    };
    const text = await readFile(file, "utf8");
    // Text that the operator has not accepted must not be believed because Bulkhead added a line to it.
    await demandRecorded(named, "manifest", { sha256: sha256Hex(text) });
    return await change({
      file,
      installed,
      text,
      readLock: () => readLock(file),
      writeText: (text) => replace(named, text, { kind: "manifest", bits: mode & 0o777 }),
      writeLock: (lock) => replace(lockFileOf(file), lockText(lock), { kind: "lock", bits: 0o644 }),
    });
  });
}
