import { nullIfMissing } from "../../ground/errors/write-fault.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import { digestFile } from "../../ground/platform/files/file-digest.ts";
import { lstat, readdir, readFile } from "../../ground/platform/files/files.ts";
import { sha256Hex } from "../../ground/platform/files/hash.ts";
import { join } from "../../ground/platform/files/paths.ts";
import type { LockedPlugin } from "./lock-format.ts";

/** Hex SHA-256 of every file of a package, by its path with forward slashes. */
export type FileHashes = Readonly<Record<string, string>>;

/** The list of a package's files as one text; its hash is what a lock has. */
export function fileList(hashes: FileHashes): string {
  const paths = Object.keys(hashes).sort();
  return paths.map((path) => `${hashes[path]}  ${path}\n`).join("");
}

/** Path of the list that is kept beside an installed package, to tell which file has changed. */
export function listFileOf(folder: string): string {
  return `${folder}.files`;
}

/**
 * The hashes of an installed package's files, when they are those of the lock.
 * @throws {BulkheadError} `not_found` when it is not installed here, `invalid_package` when it is not as it was installed
 */
export async function checkInstalled(folder: string, id: string, locked: LockedPlugin): Promise<FileHashes> {
  const hashes = await hashFolder(folder);
  if (hashes === null) {
    throw new BulkheadError(
      "not_found",
      `Cannot load plugin "${id}": version ${locked.version} is locked, and not installed here.`,
      {
        hint: "Install what the lock names: bulkhead plugin add",
        details: { plugin_id: id, folder },
      },
    );
  }
  if (sha256Hex(fileList(hashes)) === locked.files) return hashes;
  const changed = await changedFiles(folder, hashes, locked);
  const which = changed === null ? "" : `: ${changed.slice(0, 5).join(", ")}${changed.length > 5 ? " and others" : ""}`;
  throw new BulkheadError(
    "invalid_package",
    `Cannot load plugin "${id}": its files are not those that were installed${which}.`,
    {
      hint: `Look at ${folder}, then install it again: bulkhead plugin add`,
      details: { plugin_id: id, folder, ...omitUndefined({ changed: changed ?? undefined }) },
    },
  );
}

/** Hex SHA-256 of the list of a folder's files; null when there is no such folder. */
export async function filesDigest(folder: string): Promise<string | null> {
  const hashes = await hashFolder(folder);
  return hashes === null ? null : sha256Hex(fileList(hashes));
}

/** Null when there is no such folder. Anything in it that is no plain file makes the hashes those of no package. */
async function hashFolder(folder: string): Promise<Record<string, string> | null> {
  const hashes: [path: string, hash: string][] = [];
  const visit = async (path: string): Promise<void> => {
    const names = await readdir(join(folder, path));
    await Promise.all(names.map(async (name) => {
      const own = path === "" ? name : `${path}/${name}`;
      const found = await lstat(join(folder, own));
      if (found.isDirectory()) return await visit(own);
      const digest = found.isFile() ? await digestFile(join(folder, own), { maxBytes: found.size }) : null;
      hashes.push([own, (digest?.kind === "file" ? digest.sha256 : null) ?? "other"]);
    }));
  };
  try {
    await visit("");
    return Object.fromEntries(hashes);
  } catch (error) {
    return nullIfMissing(error);
  }
}

/** Null when the list itself is not as it was written. */
async function changedFiles(folder: string, now: FileHashes, { files }: LockedPlugin): Promise<string[] | null> {
  const list = await readFile(listFileOf(folder), "utf8").catch(() => "");
  if (sha256Hex(list) !== files) return null;
  const before = new Map(list.split("\n").filter(Boolean).map((text) => [text.slice(66), text.slice(0, 64)]));
  const all = new Set([...before.keys(), ...Object.keys(now)]);
  return [...all].filter((path) => before.get(path) !== now[path]).sort();
}
