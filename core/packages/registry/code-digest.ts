import { digestFile } from "../../ground/platform/files/file-digest.ts";
import { readdir } from "../../ground/platform/files/files.ts";
import { sha256Hex, sortKeys } from "../../ground/platform/files/hash.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { fileList } from "../manifest/installed-files.ts";
import type { Plugin } from "../manifest/plugin.ts";

/** Files and bytes of a plugin's folder, beyond which it is not compared. */
const mostFiles = 100_000;
const mostBytes = 1024 * 1024 * 1024;

/** Entries that are no code, and that differ between checkouts of the same files. */
const notCode = new Set([".git", ".DS_Store"]);

/**
 * Digest of the code that sessions of a plugin run: of an installed one as it is locked, of any other one of all files
 * in its folder, its packages included; of a tool, of what the host manifest says of it. Null where it cannot be told.
 */
export async function codeDigest(
  { origin, hashes, folder, manifest }: Pick<Plugin, "origin" | "hashes" | "folder" | "manifest">,
): Promise<string | null> {
  if (hashes !== undefined) return sha256Hex(fileList(hashes));
  if (origin === "inline") return sha256Hex(JSON.stringify(manifest.cli, sortKeys));
  const found: Record<string, string> = {};
  const left = { files: mostFiles, bytes: mostBytes };
  return await hashInto(found, { folder, below: "", left }) ? sha256Hex(fileList(found)) : null;
}

interface HashOptions {
  folder: string;
  /** Path of a folder in it, with a slash at its end; empty for its top. */
  below: string;
  left: { files: number; bytes: number };
}

/** One file after the other: a folder of packages must not take all descriptors. False where there is too much, or no folder. */
async function hashInto(found: Record<string, string>, { folder, below, left }: HashOptions): Promise<boolean> {
  const names = await readdir(join(folder, below)).catch(() => null);
  if (names === null) return false;
  for (const name of names.toSorted()) {
    if (notCode.has(name)) continue;
    const path = `${below}${name}`;
    const digest = await digestFile(join(folder, path), { maxBytes: left.bytes });
    if (digest === null) return false;
    if (digest.kind === "folder") {
      if (!(await hashInto(found, { folder, below: `${path}/`, left }))) return false;
      continue;
    }
    left.bytes -= digest.bytes ?? 0;
    if (--left.files < 0 || (digest.kind === "file" && digest.sha256 === null)) return false;
    found[path] = digest.sha256 ?? digest.kind;
  }
  return true;
}
