import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { open, stat } from "../platform/files/files.ts";
import { type FileErrorCode, problemsError } from "./yaml-problems.ts";

/**
 * Reads a file that a person wrote, at most `maxBytes` of it.
 * @throws {BulkheadError} `not_found`; `io_error`; `code` when it is no file, too long or not UTF-8
 */
export async function readTextFile(
  file: string,
  { maxBytes, code, name = file }: { maxBytes: number; code: FileErrorCode; name?: string },
): Promise<string> {
  const bytes = await readCapped(file, maxBytes + 1);
  const refuse = (expected: string, found: string) =>
    problemsError(code, [{ file: name, line: 1, column: 1, path: "", expected, found }]);
  if (bytes === "other") throw refuse("a file", "something else");
  if (bytes.length > maxBytes) throw refuse(`at most ${maxBytes} bytes`, "more");
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw refuse("UTF-8 text", "bytes that are none");
  }
}

async function readCapped(file: string, most: number): Promise<Uint8Array | "other"> {
  try {
    // Check before opening: opening a pipe without a writer would block forever.
    const found = await stat(file);
    if (!found.isFile()) return "other";
    const handle = await open(file, "r");
    try {
      const bytes = new Uint8Array(Math.min(found.size, most));
      let filled = 0;
      while (filled < bytes.length) {
        const { bytesRead } = await handle.read(bytes, filled, bytes.length - filled, null);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      return bytes.subarray(0, filled);
    } finally {
      await handle.close();
    }
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") {
      throw new BulkheadError("not_found", `Cannot read ${file}: there is no such file.`, { cause });
    }
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new BulkheadError("io_error", `Cannot read ${file}: ${why}.`, { cause });
  }
}
