import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { writeFault } from "../../ground/errors/write-fault.ts";
import { constants, lstat, open, rename, rm } from "../../ground/platform/files/files.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import { basename, dirname } from "../../ground/platform/files/paths.ts";
import { pinFolder, type PinnedFolder, userId } from "../../ground/platform/files/pinned-folder.ts";

const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const createFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/**
 * Acts in a folder that was checked: holds it open, and refuses if it has moved since the check. A link swapped in
 * between the check and the use leads to nothing.
 *
 * @throws {BulkheadError} `not_found`, `io_error`, and errors of `act`
 */
export async function inFolder<T>(realFolder: string, act: (folder: PinnedFolder) => Promise<T>): Promise<T> {
  const folder = await pinFolder(realFolder).catch((error) => {
    throw fileError(realFolder, error);
  });
  try {
    if (await folder.realPath() !== realFolder) throw moved(realFolder);
    const done = await act(folder);
    // This late check shows a swap where the folder cannot be pinned.
    if (folder.base === realFolder && await folder.realPath() !== realFolder) throw moved(realFolder);
    return done;
  } catch (error) {
    throw fileError(realFolder, error);
  } finally {
    await folder.close();
  }
}

/**
 * Reads a regular file as UTF-8. Never follows a link, never waits for a pipe or a device.
 * @throws {BulkheadError} `not_found`, `too_large`, `io_error`, `permission_denied`
 */
export function readContained(realPath: string, { maxBytes }: { maxBytes: number }): Promise<string> {
  return inFolder(dirname(realPath), async ({ base }) => {
    const handle = await open(`${base}/${basename(realPath)}`, readFlags).catch((error) => {
      throw fileError(realPath, error);
    });
    try {
      const info = await handle.stat();
      if (!info.isFile()) throw notRegular(realPath);
      // A second name may be a hard link, made by another user, to content that does not belong in this folder.
      if (info.nlink > 1 && info.uid !== userId()) {
        throw new BulkheadError("permission_denied", `Cannot read "${realPath}": it is another user's linked file.`, {
          details: { permission: "read", target: realPath, grantable: false },
        });
      }
      if (info.size > maxBytes) throw tooLarge(realPath, maxBytes);
      return await readAll(handle, { realPath, maxBytes });
    } finally {
      await handle.close();
    }
  });
}

/**
 * Replaces or makes a file in one step: readers see the old text or the new, never a part.
 * @throws {BulkheadError} `not_found` (the folder), `too_large`, `io_error`, `permission_denied` (hard links)
 */
export function writeContained(
  realPath: string,
  content: string | Uint8Array,
  { maxBytes, mode = null }: {
    maxBytes: number;
    /** Default: that of the file that is replaced. */
    mode?: number | null;
  },
): Promise<void> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  if (bytes.byteLength > maxBytes) return Promise.reject(tooLarge(realPath, maxBytes));
  return inFolder(dirname(realPath), async ({ base }) => {
    const target = `${base}/${basename(realPath)}`;
    const old = await lstat(target).catch(() => null);
    if (old !== null && !old.isFile()) throw notRegular(realPath);
    if (old !== null && old.nlink > 1) {
      throw new BulkheadError("permission_denied", `Cannot write "${realPath}": the file has more than one name.`, {
        details: { permission: "write", target: realPath, grantable: false },
      });
    }
    const draft = `${base}/.bulkhead-${randomId()}.tmp`;
    const handle = await open(draft, createFlags, 0o666);
    try {
      await fill(handle, { bytes, mode: mode ?? (old === null ? null : old.mode & 0o777) }).finally(() =>
        handle.close()
      );
      await rename(draft, target);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
  });
}

/** The mask of this process, 077 in a service, would take away modes that are given when a file is made. */
async function fill(handle: FileHandle, { bytes, mode }: { bytes: Uint8Array; mode: number | null }): Promise<void> {
  if (mode !== null) await handle.chmod(mode);
  await handle.writeFile(bytes);
}

/** Converts a system's error to ours, without its stack and call; keeps ours. */
function fileError(path: string, error: unknown): BulkheadError {
  if (error instanceof BulkheadError) return error;
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
  const options = { details: { path, system_code: code }, cause: error };
  if (code === "ENOENT" || code === "ENOTDIR") {
    return new BulkheadError("not_found", `Cannot find "${path}".`, options);
  }
  if (code === "ELOOP") return new BulkheadError("io_error", `Cannot open "${path}": it is a link.`, options);
  const fault = writeFault(error, `"${dirname(path)}"`);
  const why = fault === null ? `the system refused it (${code})` : `${fault.state} (${code})`;
  return new BulkheadError("io_error", `Cannot use "${path}": ${why}.`, options);
}

type FileHandle = Awaited<ReturnType<typeof open>>;

/** Counts while it reads: the file may grow after its size was read. */
async function readAll(handle: FileHandle, { realPath, maxBytes }: { realPath: string; maxBytes: number }) {
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(64 * 1024);
  let text = "";
  for (let total = 0;;) {
    const { bytesRead } = await handle.read(buffer, 0, buffer.byteLength, null);
    if (bytesRead === 0) return text + decoder.decode();
    total += bytesRead;
    if (total > maxBytes) throw tooLarge(realPath, maxBytes);
    text += decoder.decode(buffer.subarray(0, bytesRead), { stream: true });
  }
}

function moved(path: string): BulkheadError {
  return new BulkheadError("io_error", `Cannot use "${path}": it was moved while it was being checked.`);
}

function notRegular(path: string): BulkheadError {
  return new BulkheadError("io_error", `Cannot use "${path}": it is not a regular file.`);
}

function tooLarge(path: string, maxBytes: number): BulkheadError {
  return new BulkheadError("too_large", `Cannot use "${path}": it is larger than ${maxBytes} bytes.`, {
    details: { file_bytes: maxBytes },
  });
}
