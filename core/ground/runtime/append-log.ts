import { closeSync, openSync, renameSync, writeSync } from "node:fs";
import { tellRefusal } from "./write-faults.ts";

/** A text file that grows by lines. Each is written synchronously, so it survives a crash of this process. */
export interface AppendLog {
  /** @throws {Error} of the file system, which may have taken a part of the line: replace all lines then */
  append(line: string): void;
  /** Replaces all lines in one step. */
  replace(lines: readonly string[]): void;
  close(): void;
}

/** Creates or replaces such a file with its first lines; only its owner may read it. */
export function startAppendLog(file: string, lines: readonly string[]): AppendLog {
  let handle = begin(file, lines);
  return {
    append: (line) => told(file, () => writeAll(handle, `${line}\n`)),
    replace(newLines) {
      const before = handle;
      handle = told(file, () => begin(file, newLines));
      closeSync(before);
    },
    close: () => closeSync(handle),
  };
}

function told<T>(file: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    tellRefusal(file, error);
    throw error;
  }
}

/** The handle goes along when the file is renamed. */
function begin(file: string, lines: readonly string[]): number {
  const next = `${file}.next`;
  const handle = openSync(next, "w", 0o600);
  try {
    writeAll(handle, lines.map((line) => `${line}\n`).join(""));
    renameSync(next, file);
    return handle;
  } catch (error) {
    closeSync(handle);
    throw error;
  }
}

/** A disk with little room takes a part without an error. */
function writeAll(handle: number, text: string): void {
  for (let left = new TextEncoder().encode(text); left.length > 0;) left = left.subarray(writeSync(handle, left));
}
