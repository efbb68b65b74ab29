import { closeSync, fstatSync, openSync, renameSync, rmSync, writeSync } from "node:fs";

/** Options of {@link openRotatingFile}. */
interface RotatingFileOptions {
  /** Bytes of a file; a full one is rotated. */
  maxBytes: number;
  /** Rotated files to keep beside the current one: `log.1` is the newest of them. */
  keep: number;
}

/** A text file of bounded size. */
interface RotatingFile {
  /** Writes at once. On a full disk the text is lost, but the caller gets no error. */
  write(text: string): void;
  close(): void;
}

/**
 * Opens a file to append to, for this user alone; a full one becomes `<file>.1`, that one `<file>.2`, and so on.
 * @throws {Error} of the file system when it cannot be opened
 */
export function openRotatingFile(file: string, { maxBytes, keep }: RotatingFileOptions): RotatingFile {
  let handle = openSync(file, "a", 0o600);
  let bytes = fstatSync(handle).size;
  return {
    write(text) {
      const piece = new TextEncoder().encode(text);
      try {
        if (bytes > 0 && bytes + piece.byteLength > maxBytes) rotate();
        bytes += writeSync(handle, piece);
      } catch {
        // The log itself failed, so the failure cannot be logged.
      }
    },
    close: () => closeSync(handle),
  };

  function rotate(): void {
    rmSync(`${file}.${keep}`, { force: true });
    for (let number = keep - 1; number >= 1; number--) moveIfThere(`${file}.${number}`, `${file}.${number + 1}`);
    if (keep > 0) moveIfThere(file, `${file}.1`);
    else rmSync(file, { force: true });
    const full = handle;
    handle = openSync(file, "a", 0o600);
    bytes = fstatSync(handle).size;
    closeSync(full);
  }
}

function moveIfThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
}
