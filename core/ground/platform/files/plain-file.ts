import { constants, open, readlink } from "./files.ts";

interface ReadPlainOptions {
  /** Bytes of the largest file that is read. */
  maxBytes: number;
  /** Whether the path is a real one, and a file that is found elsewhere is not read; default: no. */
  isReal?: boolean;
}

/** A file's content, and the permissions of its owner. */
interface PlainFile {
  bytes: Uint8Array;
  mode: number;
}

/**
 * Reads a file that an agent or a repository may have made: null for a link, for a pipe that would keep the host waiting,
 * for anything but a file, and for a file that is too large.
 */
export async function readPlainFile(
  path: string,
  { maxBytes, isReal = false }: ReadPlainOptions,
): Promise<PlainFile | null> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(() => null);
  if (file === null) return null;
  try {
    const info = await file.stat();
    if (!info.isFile() || info.size > maxBytes) return null;
    // A folder above it may have become a link. Deno reads this with all permissions alone.
    if (isReal && await readlink(`/proc/self/fd/${file.fd}`).catch(() => path) !== path) return null;
    const bytes = new Uint8Array(info.size);
    let length = 0;
    while (length < bytes.byteLength) {
      const { bytesRead } = await file.read(bytes, length, bytes.byteLength - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return { bytes: bytes.subarray(0, length), mode: info.mode & 0o700 };
  } catch {
    return null;
  } finally {
    await file.close();
  }
}

/** The text of such a file. */
export async function readPlainText(path: string, options: ReadPlainOptions): Promise<string | null> {
  const file = await readPlainFile(path, options);
  return file === null ? null : new TextDecoder().decode(file.bytes);
}
