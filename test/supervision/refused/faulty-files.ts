import type * as Files from "node:fs";
import type * as Promised from "node:fs/promises";
import { basename, isInside } from "../../../core/ground/platform/files/paths.ts";

/** Faults that a file system answers with. */
export const faultCodes = ["ENOSPC", "EDQUOT", "EIO", "EMFILE", "EACCES", "EROFS"] as const;
export type FaultCode = (typeof faultCodes)[number];

/** What SQLite makes of them. */
const sqliteCodes: { readonly [C in FaultCode]: string } = {
  ENOSPC: "SQLITE_FULL",
  EDQUOT: "SQLITE_IOERR_WRITE",
  EIO: "SQLITE_IOERR_WRITE",
  EMFILE: "SQLITE_CANTOPEN",
  EACCES: "SQLITE_READONLY",
  EROFS: "SQLITE_READONLY",
};

/** A file system that refuses what is done in one folder, from the so manieth operation on. */
export class FaultyFiles {
  #code: FaultCode | null = null;
  #folder = "";
  #pass = 0;
  #times = Infinity;
  /** Descriptors that are open below the folder: their path. */
  readonly open = new Map<number | object, string>();
  /** Operations that were refused since it was told to. */
  refused = 0;

  /**
   * @param options.pass operations that still work
   * @param options.times operations that are then refused
   */
  refuse(
    code: FaultCode,
    { folder, pass = 0, times = Infinity }: { folder: string; pass?: number; times?: number },
  ): void {
    [this.#code, this.#folder, this.#pass, this.#times, this.refused] = [code, folder, pass, times, 0];
  }

  get isFull(): boolean {
    return this.#code === "ENOSPC" || this.#code === "EDQUOT";
  }

  allow(): void {
    this.#code = null;
  }

  /** Throws where an operation is refused. */
  demand(path: unknown, kind: "descriptor" | "read" | "write" | "remove"): void {
    const code = this.#code;
    if (code === null || typeof path !== "string" || !isInside(this.#folder, path) || isOfLock(path)) return;
    if (code === "EMFILE" ? kind !== "descriptor" && kind !== "read" : kind === "read") return;
    if (kind === "remove" && code !== "EIO" && code !== "EROFS") return;
    if (this.#pass-- > 0 || this.refused >= this.#times) return;
    this.refused++;
    throw Object.assign(new Error(`${code}: refused by the test, '${path}'`), { code, path });
  }

  /** Throws as SQLite does. */
  demandStatement(file: string): void {
    const code = this.#code;
    try {
      this.demand(file, code === "EMFILE" ? "descriptor" : "write");
    } catch (error) {
      throw Object.assign(new Error(String(error)), { code: sqliteCodes[code!] });
    }
  }
}

/** Locks have tests of their own; `bulkhead.lock` is none. */
function isOfLock(path: string): boolean {
  const name = basename(path);
  return /(^|\.)lock(\.|$)/.test(name) && !name.startsWith("bulkhead.lock");
}

/** Operations by the place of the path that they change, and what they do to it. */
const operations: Readonly<Record<string, readonly [at: number, kind: "descriptor" | "read" | "write" | "remove"]>> = {
  readFile: [0, "read"],
  readdir: [0, "read"],
  opendir: [0, "read"],
  mkdir: [0, "write"],
  mkdtemp: [0, "write"],
  rename: [1, "write"],
  link: [1, "write"],
  symlink: [1, "write"],
  copyFile: [1, "write"],
  rm: [0, "remove"],
  unlink: [0, "remove"],
};

type Act = (...given: unknown[]) => unknown;

/** Puts the faults before `node:fs/promises`. */
export function faultyPromises(real: typeof Promised, faults: FaultyFiles): Record<string, unknown> {
  const own: Record<string, unknown> = { ...real };
  for (const [name, [at, kind]] of Object.entries(operations)) {
    own[name] = async (...given: unknown[]) => {
      faults.demand(given[at], kind);
      return await (Reflect.get(real, name) as Act)(...given);
    };
  }
  for (const name of ["writeFile", "appendFile"] as const) {
    own[name] = async (path: unknown, data: unknown, ...rest: unknown[]) => {
      faults.demand(path, "descriptor");
      await torn(
        () => faults.demand(path, "write"),
        data,
        (part) => (real[name] as Act)(path, part, ...rest) as Promise<void>,
      );
    };
  }
  own["open"] = async (path: string, ...rest: [flags?: string | number, mode?: number]) => {
    faults.demand(path, writes(rest[0]) ? "descriptor" : "read");
    return followed(await real.open(path, ...rest), path, faults);
  };
  return { ...own, default: own };
}

/** Puts the faults before `node:fs`. */
export function faultyFiles(real: typeof Files, faults: FaultyFiles): Record<string, unknown> {
  const own: Record<string, unknown> = { ...real };
  for (const [name, [at, kind]] of Object.entries(operations)) {
    own[`${name}Sync`] = (...given: unknown[]) => {
      faults.demand(given[at], kind);
      return (Reflect.get(real, `${name}Sync`) as Act)(...given);
    };
  }
  own["writeFileSync"] = (path: string, ...rest: [data: string, options?: Files.WriteFileOptions]) => {
    faults.demand(path, "descriptor");
    faults.demand(path, "write");
    real.writeFileSync(path, ...rest);
  };
  own["openSync"] = (path: string, ...rest: [flags: string | number, mode?: number]) => {
    faults.demand(path, writes(rest[0]) ? "descriptor" : "read");
    const handle = real.openSync(path, ...rest);
    faults.open.set(handle, path);
    return handle;
  };
  own["closeSync"] = (handle: number) => {
    faults.open.delete(handle);
    real.closeSync(handle);
  };
  own["writeSync"] = (handle: number, data: Uint8Array) => {
    try {
      faults.demand(faults.open.get(handle), "write");
    } catch (error) {
      // A disk with little room takes a part, and then nothing.
      if (data.length < 2) throw error;
      return real.writeSync(handle, data.subarray(0, Math.floor(data.length / 2)));
    }
    return real.writeSync(handle, data);
  };
  return { ...own, default: own };
}

function writes(flags: string | number = "r"): boolean {
  return typeof flags === "number" ? (flags & 3) !== 0 : flags !== "r";
}

/** Writes half of what is refused, as a disk does that runs full. */
async function torn(demand: () => void, data: unknown, write: (part: unknown) => Promise<unknown>): Promise<void> {
  try {
    demand();
  } catch (error) {
    if (typeof data === "string" || data instanceof Uint8Array) {
      await write(data.slice(0, Math.floor(data.length / 2))).catch(() => {});
    }
    throw error;
  }
  await write(data);
}

function followed(handle: Promised.FileHandle, path: string, faults: FaultyFiles): Promised.FileHandle {
  faults.open.set(handle, path);
  return new Proxy(handle, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      const act = value.bind(target) as Act;
      if (name === "writeFile") {
        return (data: unknown, ...rest: unknown[]) =>
          torn(() => faults.demand(path, "write"), data, (part) => act(part, ...rest) as Promise<unknown>);
      }
      if (name === "write") {
        return async (...given: [bytes: Uint8Array, offset: number, length: number, position: number]) => {
          const [bytes, offset, length, position] = given;
          // A full disk still takes what stands in place of something else.
          if (faults.isFull && position + length <= (await target.stat()).size) return await target.write(...given);
          try {
            faults.demand(path, "write");
          } catch (error) {
            if (!faults.isFull || length < 2) throw error;
            return await target.write(bytes, offset, Math.floor(length / 2), position);
          }
          return await target.write(...given);
        };
      }
      return async (...given: unknown[]) => {
        if (name === "close") faults.open.delete(handle);
        if (["sync", "datasync"].includes(String(name))) faults.demand(path, "write");
        return await act(...given);
      };
    },
  });
}
