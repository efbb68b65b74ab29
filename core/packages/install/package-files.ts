import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Limits } from "../../ground/config/limits.ts";

/** Files of a package by path, which is relative and has forward slashes. */
export type PackageFiles = ReadonlyMap<string, Uint8Array>;

/** Limits of a package. */
export type PackageLimits = Pick<
  Limits,
  "package_bytes" | "package_unpacked_bytes" | "package_files" | "package_ratio"
>;

const longestPath = 512;
/** Of one name, in every file system that is in wide use. */
const longestName = 255;
const deepest = 32;
/** Names that Windows takes for devices, with any file extension. */
const deviceName = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)/i;
// deno-lint-ignore no-control-regex
const unseen = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/;

/** Takes in the files of a package, and refuses all of it at the first that could stand for another. */
export class PackageCollector {
  readonly #name: string;
  readonly #limits: PackageLimits;
  readonly #files = new Map<string, Uint8Array>();
  /** Every path and folder, in the form in which file systems that fold letters compare them. */
  readonly #folded = new Map<string, { path: string; kind: "file" | "folder" }>();
  #bytes = 0;
  #entries = 0;

  constructor(name: string, limits: PackageLimits) {
    this.#name = name;
    this.#limits = limits;
  }

  /**
   * Asks for a place, before there are bytes.
   * @throws {BulkheadError} `invalid_package`, `too_large`
   */
  claim(path: string, { kind, bytes }: { kind: "file" | "folder"; bytes: number }): void {
    const fault = pathFault(path);
    if (fault !== null) throw this.refusal(path, fault);
    this.#entries += 1;
    this.#bytes += bytes;
    if (this.#entries > this.#limits.package_files) throw this.tooLarge("package_files", "entries");
    if (this.#bytes > this.#limits.package_unpacked_bytes) throw this.tooLarge("package_unpacked_bytes", "bytes");
    const parts = path.split("/");
    for (let length = 1; length <= parts.length; length++) {
      const here = parts.slice(0, length).join("/");
      this.#fold(here, length === parts.length ? kind : "folder");
    }
  }

  add(path: string, bytes: Uint8Array): void {
    this.#files.set(path, bytes);
  }

  files(): PackageFiles {
    return this.#files;
  }

  refusal(path: string, fault: string): BulkheadError {
    return packageError(this.#name, `its entry ${JSON.stringify(path.slice(0, 120))} ${fault}`);
  }

  tooLarge(limit: keyof PackageLimits, unit: string): BulkheadError {
    const most = this.#limits[limit];
    return new BulkheadError("too_large", `Cannot take ${this.#name}: it has more than ${most} ${unit}.`, {
      hint: `The limit is ${limit}, under limits in the host manifest.`,
      details: { limit: most, key: limit },
    });
  }

  #fold(path: string, kind: "file" | "folder"): void {
    const key = path.normalize("NFKC").toLowerCase();
    const known = this.#folded.get(key);
    if (known === undefined) {
      this.#folded.set(key, { path, kind });
    } else if (known.path !== path) {
      throw this.refusal(path, `differs from ${JSON.stringify(known.path)} in letters alone`);
    } else if (kind === "file" || known.kind === "file") {
      throw this.refusal(path, "is there twice");
    }
  }
}

/** Why a path of a package is refused; null for a plain one. */
export function pathFault(path: string): string | null {
  if (path === "") return "has no name";
  if (byteLength(path) > longestPath) return `has a path of more than ${longestPath} bytes`;
  if (/\p{Surrogate}/u.test(path) || unseen.test(path)) return "has a path with invisible characters";
  if (path.startsWith("/") || path.includes("\\") || path.includes(":")) return "has a path that is not relative";
  const parts = path.split("/");
  if (parts.some((part) => byteLength(part) > longestName)) return `has a name of more than ${longestName} bytes`;
  if (parts.length > deepest) return `is deeper than ${deepest} folders`;
  if (parts.some((part) => part === "" || part === "." || part === "..")) return "has a path that leads elsewhere";
  if (parts.some((part) => /[. ]$/.test(part) || deviceName.test(part))) {
    return "has a name that is no file's everywhere";
  }
  if (parts.some((part) => part.toLowerCase() === ".git")) return "belongs to a repository, not to a package";
  return null;
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** A package that is refused: `because` says what about it. */
export function packageError(name: string, because: string, hint?: string): BulkheadError {
  return new BulkheadError("invalid_package", `Cannot take ${name}: ${because}.`, {
    hint: hint ?? "Nothing of it was installed.",
  });
}
