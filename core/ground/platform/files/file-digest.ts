import { createHash } from "node:crypto";
import { constants, lstat, open, readlink } from "node:fs/promises";

interface FileDigest {
  kind: "file" | "symlink" | "folder" | "other";
  /** Hex SHA-256 of a file's content or of a symlink's target; null for the rest, and for a file over the limit. */
  sha256: string | null;
  /** Bytes that were hashed; null for the rest. */
  bytes: number | null;
}

/**
 * Hashes one file by streaming, never through a symlink.
 * @returns null when the path does not exist or cannot be read
 */
export async function digestFile(path: string, options: { maxBytes: number }): Promise<FileDigest | null> {
  try {
    const found = await lstat(path);
    if (found.isSymbolicLink()) return digestLink(await readlink(path));
    if (found.isDirectory()) return { kind: "folder", sha256: null, bytes: null };
    if (!found.isFile()) return { kind: "other", sha256: null, bytes: null };
    if (found.size > options.maxBytes) return { kind: "file", sha256: null, bytes: found.size };
    return await digestContent(path, options.maxBytes);
  } catch {
    return null;
  }
}

function digestLink(target: string): FileDigest {
  const bytes = new TextEncoder().encode(target);
  return { kind: "symlink", sha256: createHash("sha256").update(bytes).digest("hex"), bytes: bytes.byteLength };
}

async function digestContent(path: string, maxBytes: number): Promise<FileDigest> {
  // Between lstat and open the path may have become a link or a pipe: do not follow or wait for either.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const hash = createHash("sha256");
    const chunk = new Uint8Array(65_536);
    let bytes = 0;
    for (;;) {
      const { bytesRead } = await file.read(chunk, 0, chunk.byteLength, null);
      if (bytesRead === 0) return { kind: "file", sha256: hash.digest("hex"), bytes };
      hash.update(chunk.subarray(0, bytesRead));
      bytes += bytesRead;
      // Another process may be writing to it.
      if (bytes > maxBytes) return { kind: "file", sha256: null, bytes };
    }
  } finally {
    await file.close();
  }
}
