import { nullIfNotFound } from "../../ground/errors/to-error-data.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { readTextFile } from "../../ground/config/read-text-file.ts";
import { demandRecorded } from "../../ground/recorded/demand-recorded.ts";
import { dirname, join, resolve } from "../../ground/platform/files/paths.ts";
import { sha256Hex } from "../../ground/platform/files/hash.ts";
import { realpath } from "../../ground/platform/files/files.ts";
import { stateFolders } from "../../ground/platform/state/state-folders.ts";
import type { LockedPlugin, PluginLock } from "./lock-format.ts";
import type { LockEntries } from "./parse-lock.ts";

/** File name of the lock, beside the host manifest. */
export const lockName = "bulkhead.lock";

const mostBytes = 1024 * 1024;

/** Path of the lock that belongs to a host manifest. */
export function lockFileOf(manifestFile: string): string {
  return join(dirname(manifestFile), lockName);
}

/**
 * Reads the lock beside a host manifest; one that is not there locks nothing.
 * @throws {BulkheadError} `invalid_config` with line and column, `io_error`, `unaccepted_change`
 */
export async function readLock(manifestFile: string): Promise<PluginLock> {
  const text = await readLockText(manifestFile);
  if (text === null) return { lock: 1, plugins: {} };
  const { parseLock } = await import("./parse-lock.ts");
  return parseLock(text, { file: lockFileOf(manifestFile), maxBytes: mostBytes });
}

/** Entries of a lock, as far as it can be read. */
interface ReadableLock extends LockEntries {
  /** Why nothing of it can be used; null: it can be read. */
  error: BulkheadError | null;
}

/** Reads the lock beside a host manifest, each entry by itself. Never throws for what is in it. */
export async function readLockEntries(manifestFile: string): Promise<ReadableLock> {
  const none = { plugins: {}, broken: {} };
  try {
    const text = await readLockText(manifestFile);
    if (text === null) return { ...none, error: null };
    const { parseLockEntries } = await import("./parse-lock.ts");
    return { ...parseLockEntries(text, { file: lockFileOf(manifestFile), maxBytes: mostBytes }), error: null };
  } catch (error) {
    if (error instanceof BulkheadError) return { ...none, error };
    throw error;
  }
}

/** Null where there is none. */
async function readLockText(manifestFile: string): Promise<string | null> {
  const file = resolve(lockFileOf(manifestFile));
  let text: string;
  try {
    text = await readTextFile(file, { maxBytes: mostBytes, code: "invalid_config" });
  } catch (error) {
    await demandRecorded(file, "lock");
    return nullIfNotFound(error);
  }
  await demandRecorded(file, "lock", { sha256: sha256Hex(text) });
  return text;
}

/** The lock's text. */
export function lockText(lock: PluginLock): string {
  const plugins = Object.fromEntries(Object.entries(lock.plugins).sort(([a], [b]) => (a < b ? -1 : 1)));
  return `${JSON.stringify({ ...lock, plugins }, null, 2)}\n`;
}

/** Returns the folder of a host manifest's installed plugins: each lies in a subfolder by id and version. */
export async function installedFolder(
  manifestFile: string,
  env?: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const folder = dirname(manifestFile);
  const real = await realpath(folder).catch(() => folder);
  return join(stateFolders(env).data, "installed", sha256Hex(real).slice(0, 16));
}

/** Its real path, where it is there; else the path that it would have. */
export async function realInstalledFolder(manifestFile: string): Promise<string> {
  const folder = await installedFolder(manifestFile);
  return await realpath(folder).catch(() => folder);
}

/** Folder of one installed version. */
export function versionFolder(installed: string, id: string, { version, files }: LockedPlugin): string {
  return join(installed, id, `${version}-${files.slice(0, 12)}`);
}
