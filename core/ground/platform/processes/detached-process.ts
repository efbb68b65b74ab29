import { spawn } from "node:child_process";
import { closeSync, ftruncateSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomId } from "../files/hash.ts";
import { hostEnv } from "../engine/platform.ts";

/** A process that outlives this one. */
interface DetachedProcess {
  readonly pid: number;
  /** Its exit code, or null when a signal ended it; settles only while this process runs. */
  readonly exited: Promise<number | null>;
  /** Returns what it has printed, once it has ended. */
  output(): string;
  /** Closes the file of its output; the process goes on. */
  close(): void;
}

interface StartDetachedOptions {
  cwd: string;
  /** Replaced with its output; readable by this user alone. */
  outputFile: string;
}

/**
 * Starts a program in its own session, with this process's environment and without any of its streams. Where the file of
 * its output cannot be written, a nameless one in a folder for temporary files takes its place.
 * @throws {Error} of the system when it cannot be started, or no file can be written
 */
export async function startDetached(
  [program = "", ...args]: readonly string[],
  { cwd, outputFile }: StartDetachedOptions,
): Promise<DetachedProcess> {
  const output = openOutput(outputFile);
  const close = () => closeSync(output);
  try {
    const child = spawn(program, args, { cwd, detached: true, stdio: ["ignore", output, output] });
    const exited = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
    await new Promise<void>((resolve, reject) => child.once("spawn", resolve).once("error", reject));
    child.unref();
    return { pid: child.pid ?? 0, exited, output: () => readOutput(output), close };
  } catch (error) {
    close();
    throw error;
  }
}

/** Opens a file with room, the named one where it can be written. */
function openOutput(file: string): number {
  try {
    return openWithRoom(file, "w+");
  } catch (error) {
    for (const folder of [tmpdir(), hostEnv("XDG_RUNTIME_DIR"), "/dev/shm"]) {
      const output = folder === undefined ? null : openNameless(folder);
      if (output !== null) return output;
    }
    throw error;
  }
}

/** Opens a file that has no name any more; null where the folder cannot hold it. */
function openNameless(folder: string): number | null {
  const file = join(folder, `bulkhead-output-${randomId()}`);
  try {
    return openWithRoom(file, "wx+");
  } catch {
    return null;
  } finally {
    rmSync(file, { force: true });
  }
}

/** Room for the last words of a program, taken beforehand so that they do not fall to a full disk. Bytes. */
const roomBytes = 16 * 1024;

/** Opens a file filled with blanks, which the program writes over. */
function openWithRoom(file: string, flags: "w+" | "wx+"): number {
  const opened = openSync(file, flags, 0o600);
  try {
    const blank = new TextEncoder().encode("\n".repeat(roomBytes));
    // Where the program will begin to write does not move.
    for (let at = 0; at < roomBytes;) at += writeSync(opened, blank, at, roomBytes - at, at);
    return opened;
  } catch (error) {
    closeSync(opened);
    rmSync(file, { force: true });
    throw error;
  }
}

/** Reads what stands in the file, at most a megabyte, and gives back the room that is left. */
function readOutput(opened: number): string {
  const bytes = new Uint8Array(1024 * 1024);
  const length = readSync(opened, bytes, 0, bytes.length, 0);
  const text = new TextDecoder().decode(bytes.subarray(0, length)).trimEnd();
  if (length < bytes.length) ftruncateSync(opened, new TextEncoder().encode(text).length);
  return text;
}
