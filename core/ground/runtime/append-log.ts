import { closeSync, openSync, renameSync, writeSync } from "node:fs";

/** A text file that grows by lines, written at once: what was appended is there however this process ends. */
export interface AppendLog {
  /** @throws {Error} of the file system */
  append(line: string): void;
  /** Puts other lines in place of all there are, in one step. */
  replace(lines: readonly string[]): void;
  close(): void;
}

/** Begins such a file with its first lines, in place of one that is there; only its owner may read it. */
export function startAppendLog(file: string, lines: readonly string[]): AppendLog {
  let handle = begin(file, lines);
  return {
    append: (line) => void writeSync(handle, `${line}\n`),
    replace(newLines) {
      const before = handle;
      handle = begin(file, newLines);
      closeSync(before);
    },
    close: () => closeSync(handle),
  };
}

/** The handle goes along when the file is renamed. */
function begin(file: string, lines: readonly string[]): number {
  const next = `${file}.next`;
  const handle = openSync(next, "w", 0o600);
  writeSync(handle, lines.map((line) => `${line}\n`).join(""));
  renameSync(next, file);
  return handle;
}
