import type { FileAccess, FileInfo, TempFiles } from "../context.ts";
import { BulkheadError } from "../errors.ts";
import { promised } from "./promised.ts";
import type { RecordedCall } from "./scripts.ts";

/** Files that live in memory, by absolute path with `/`. */
export class MemoryFiles {
  readonly #files = new Map<string, string>();
  readonly #workdir: string;
  readonly #record: (call: RecordedCall) => void;

  constructor(workdir: string, record: (call: RecordedCall) => void) {
    this.#workdir = workdir;
    this.#record = record;
  }

  /** Returns all files in their current state. */
  all(): Record<string, string> {
    return Object.fromEntries(this.#files);
  }

  /** Adds files without recording a call. */
  put(files: Readonly<Record<string, string>>, folder: string = this.#workdir): void {
    for (const [path, text] of Object.entries(files)) this.#files.set(resolvePath(path, folder), text);
  }

  /** Returns the part of a context that accesses these files. */
  access(): FileAccess {
    const record = this.#record;
    return {
      readText: (target) =>
        promised(() => {
          record({ call: "fs.readText", target });
          return this.#get(target);
        }),
      writeText: (target, text) =>
        promised(() => {
          record({ call: "fs.writeText", target, text });
          this.#files.set(this.#resolve(target), text);
        }),
      // Files are texts here: each byte becomes the character with its number.
      writeBase64: (target, base64) =>
        promised(() => {
          record({ call: "fs.writeBase64", target, text: base64 });
          this.#files.set(this.#resolve(target), atob(base64));
        }),
      list: (target) =>
        promised(() => {
          record({ call: "fs.list", target });
          const folder = `${this.#resolve(target)}/`;
          const inside = [...this.#files.keys()].filter((path) => path.startsWith(folder));
          if (inside.length === 0) throw missing(target);
          return [...new Set(inside.map((path) => path.slice(folder.length).split("/")[0] ?? ""))].sort();
        }),
      stat: (target) =>
        promised(() => {
          record({ call: "fs.stat", target });
          return this.#stat(target);
        }),
      remove: (target) =>
        promised(() => {
          record({ call: "fs.remove", target });
          if (!this.#files.delete(this.#resolve(target))) throw missing(target);
        }),
    };
  }

  /** Returns the session's own files, in a separate folder. */
  temp(folder: string): TempFiles {
    return {
      write: (target, text) =>
        promised(() => {
          this.#record({ call: "temp.write", target, text });
          const path = resolvePath(target, folder);
          this.#files.set(path, text);
          return path;
        }),
      read: (target) =>
        promised(() => {
          this.#record({ call: "temp.read", target });
          return this.#get(resolvePath(target, folder));
        }),
    };
  }

  #stat(target: string): FileInfo {
    const path = this.#resolve(target);
    const modified_at = new Date(0).toISOString();
    const text = this.#files.get(path);
    if (text !== undefined) return { kind: "file", bytes: new TextEncoder().encode(text).length, modified_at };
    const isFolder = [...this.#files.keys()].some((file) => file.startsWith(`${path}/`));
    if (!isFolder) throw missing(target);
    return { kind: "folder", bytes: 0, modified_at };
  }

  #get(target: string): string {
    const text = this.#files.get(this.#resolve(target));
    if (text === undefined) throw missing(target);
    return text;
  }

  #resolve(path: string): string {
    return resolvePath(path, this.#workdir);
  }
}

function resolvePath(path: string, folder: string): string {
  const parts: string[] = [];
  for (const part of (path.startsWith("/") ? path : `${folder}/${path}`).split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

function missing(path: string): BulkheadError {
  return new BulkheadError("not_found", `Cannot find "${path}": the test gives no such file.`);
}
