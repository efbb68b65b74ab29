import { digestFile } from "../../ground/platform/files/file-digest.ts";
import { lstat, readdir, readlink, realpath } from "../../ground/platform/files/files.ts";
import { sha256Hex } from "../../ground/platform/files/hash.ts";
import { dirname, join } from "../../ground/platform/files/paths.ts";
import { Turns } from "../../ground/platform/engine/turns.ts";

/** All that a bundle was made from: where it is the same, the bundle would be the same. */
export interface BundleInputs {
  /** Files, with the hex SHA-256 of their bytes; null for one that is not there. */
  files: [path: string, sha256: string | null][];
  /** Folders in which modules were looked for, with the hash of the names in them; null for one that is not there. */
  folders: [path: string, sha256: string | null][];
  /** Paths by which modules were found, with where they really are; null for one that leads nowhere. */
  links: [path: string, real: string | null][];
}

/** Whether nothing of it has changed. */
export async function inputsHold({ files, folders, links }: BundleInputs): Promise<boolean> {
  const turns = new Turns(filesAtOnce);
  const same = async (path: string, kept: string | null, read: (path: string) => Promise<string | null>) =>
    await turns.take("file", () => read(path)) === kept;
  const checks = [
    ...files.map(([path, sha256]) => same(path, sha256, hashOfFile)),
    ...folders.map(([path, sha256]) => same(path, sha256, hashOfFolder)),
    ...links.map(([path, real]) => same(path, real, realOf)),
  ];
  return (await Promise.all(checks)).every(Boolean);
}

/** Files that are read at once: a bundler may have 256 open, and a package may have thousands. */
export const filesAtOnce = 32;

/** Notes what a bundle is made from while it is made. */
export class InputNotes {
  readonly #since = Date.now();
  readonly #modules = new Map<string, string>();
  readonly #files = new Set<string>();
  readonly #folders = new Set<string>();
  readonly #links = new Set<string>();

  /** A module, with the bytes that go into the bundle. */
  module(path: string, bytes: Uint8Array): void {
    this.#modules.set(path, sha256Hex(bytes));
  }

  /** Any other file, there or not. */
  file(path: string): void {
    this.#files.add(path);
  }

  /**
   * Notes a place where a module was looked for: as a file, with an ending, or as a folder. The bundler heeds the
   * nearest `package.json`, even above the package.
   */
  place(path: string): void {
    this.#folders.add(path).add(dirname(path));
    this.#links.add(path).add(dirname(path));
    this.packages(dirname(path));
  }

  /** Every `package.json` from a folder upwards. */
  packages(folder: string): void {
    for (let at = folder;; at = dirname(at)) {
      this.file(join(at, "package.json"));
      if (at === dirname(at)) return;
    }
  }

  /**
   * Returns all that was noted; null when some of it changed after the bundle was begun, because then it is unknown
   * which version the bundler saw.
   */
  async collect(): Promise<BundleInputs | null> {
    const files = [...this.#modules, ...await hashed(this.#files, hashOfFile)];
    const folders = await hashed(this.#folders, hashOfFolder);
    const links = await hashed(this.#links, realOf);
    const there = [...files, ...folders].flatMap(([path, sha256]) => (sha256 === null ? [] : [path]));
    const changes = await Promise.all(there.map(lastChange));
    return changes.some((at) => at > this.#since - clockStepMs) ? null : { files, folders, links };
  }
}

/** A file system's clock may be this much behind. */
const clockStepMs = 20;

/** Time of the last change of a file or of a folder's names; unlike the modification time, programs cannot set it. */
async function lastChange(path: string): Promise<number> {
  const at = await lstat(path).then(({ ctimeMs }) => ctimeMs, () => Infinity);
  // One of the runtimes tells it in whole seconds.
  return at % 1000 === 0 ? at + 999 : at;
}

async function hashed(
  paths: Iterable<string>,
  hash: (path: string) => Promise<string | null>,
): Promise<[string, string | null][]> {
  const turns = new Turns(filesAtOnce);
  const one = async (path: string): Promise<[string, string | null]> => [
    path,
    await turns.take("file", () => hash(path)),
  ];
  return await Promise.all([...paths].map(one));
}

/** Larger than any file that can be part of a bundle. */
const mostBytes = 256 * 1024 * 1024;

/** Treats anything but a plain file as missing: no bundle is made with it. */
async function hashOfFile(path: string): Promise<string | null> {
  const real = await realOf(path);
  const found = real === null ? null : await digestFile(real, { maxBytes: mostBytes });
  return found?.kind === "file" ? found.sha256 : null;
}

async function hashOfFolder(path: string): Promise<string | null> {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    const lines = entries.map(async (entry) => {
      const kind = entry.isFile() ? "file" : entry.isDirectory() ? "folder" : "other";
      const target = entry.isSymbolicLink() ? await readlink(join(path, entry.name)) : "";
      return JSON.stringify([entry.name, kind, target]);
    });
    return sha256Hex((await Promise.all(lines)).sort().join("\n"));
  } catch {
    return null;
  }
}

async function realOf(path: string): Promise<string | null> {
  return await realpath(path).catch(() => null);
}
