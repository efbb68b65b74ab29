import { joinBytes } from "./join-bytes.ts";
import { closeSync, fstatSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { startBackgroundTimer } from "../engine/background-timer.ts";
import { tellRefusal } from "../state/write-faults.ts";

interface RotatingFileOptions {
  /** Bytes of a file; a full one is rotated. */
  maxBytes: number;
  /** Rotated files to keep beside the current one: `log.1` is the newest of them. */
  keep: number;
}

/** A text file of bounded size. */
interface RotatingFile {
  /** Writes at once. What the system refuses is written once it lets us, up to a limit; the caller gets no error. */
  write(text: string): void;
  close(): void;
}

/** Bytes that wait for a full disk, the oldest: they tell why it began. */
const mostWaiting = 64 * 1024;
const tryEveryMs = 1000;

/**
 * Opens a file to append to, for this user alone; a full one becomes `<file>.1`, that one `<file>.2`, and so on.
 * @throws {Error} of the file system when it cannot be opened
 */
export function openRotatingFile(file: string, { maxBytes, keep }: RotatingFileOptions): RotatingFile {
  let handle = openSync(file, "a", 0o600);
  let bytes = fstatSync(handle).size;
  let waiting = new Uint8Array();
  let cancel = (): void => {};
  return {
    write(text) {
      const piece = new TextEncoder().encode(text);
      if (waiting.length > 0 && waiting.length + piece.length > mostWaiting) return;
      waiting = joinBytes([waiting, piece]);
      writeWaiting();
    },
    close() {
      cancel();
      writeWaiting();
      cancel();
      closeSync(handle);
    },
  };

  function writeWaiting(): void {
    cancel();
    try {
      if (bytes > 0 && bytes + waiting.length > maxBytes) rotate();
      while (waiting.length > 0) {
        // A disk with little room takes a part.
        const written = writeSync(handle, waiting);
        bytes += written;
        waiting = waiting.subarray(written);
      }
    } catch (error) {
      // The log itself failed, so the failure cannot be logged.
      tellRefusal(file, error);
      cancel = startBackgroundTimer(writeWaiting, tryEveryMs);
    }
  }

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
