import { asBuffer } from "../../ground/platform/files/as-buffer.ts";
import { gunzipCapped } from "../../ground/platform/files/gunzip.ts";
import { PackageCollector, packageError, type PackageFiles, type PackageLimits, pathFault } from "./package-files.ts";

/** Fields that are read of the archive library's entries. */
interface ArchiveEntry {
  path: string;
  type: string;
  size: number;
  mode?: number | undefined;
  on(event: "data", take: (chunk: Uint8Array) => void): unknown;
  on(event: "end", done: () => void): unknown;
}

/**
 * Reads a package from a tar archive, gzipped or not. All of it is read and checked before anything is written, and the
 * archive is refused as a whole for one entry that is no plain file or folder, or that could be written elsewhere. What
 * all entries have in common, their first folder, is left out.
 * @param name how the archive is called in errors
 * @throws {BulkheadError} `invalid_package`, `too_large`
 */
export async function readArchive(
  bytes: Uint8Array,
  { name, limits }: { name: string; limits: PackageLimits },
): Promise<PackageFiles> {
  const collector = new PackageCollector(name, limits);
  if (bytes.length > limits.package_bytes) throw collector.tooLarge("package_bytes", "bytes");
  const plain = await unpack(bytes, { name, limits, collector });
  // The library would unpack what is packed twice, without these limits.
  if (!isPlainTar(plain)) throw packageError(name, "it is no tar archive");
  const { Parser } = await import("tar");
  const parser = new Parser({ strict: true });
  let fault: unknown = null;
  let top: string | null = null;
  parser.on("error", (error: unknown) => fault ??= damaged(name, error));
  parser.on("ignoredEntry", ({ path, type }: ArchiveEntry) => fault ??= wrongKind(collector, path, type));
  parser.on("entry", (entry: ArchiveEntry) => {
    try {
      if (fault === null) top = takeEntry(entry, { collector, top });
    } catch (error) {
      fault = error;
    }
    // The archive goes on only when its entry has been read.
    entry.on("data", () => {});
  });
  for (let at = 0; at < plain.length && fault === null; at += chunkBytes) {
    parser.write(asBuffer(plain.subarray(at, at + chunkBytes)));
  }
  if (fault === null) parser.end();
  if (fault !== null) throw fault;
  if (collector.files().size === 0) throw packageError(name, "there is no file in it");
  return collector.files();
}

const chunkBytes = 65_536;

function isPlainTar(bytes: Uint8Array): boolean {
  const packed = (bytes[0] === 0x1f && bytes[1] === 0x8b) || (bytes[0] === 0x28 && bytes[1] === 0xb5);
  return !packed && new TextDecoder().decode(bytes.subarray(257, 262)) === "ustar";
}

async function unpack(
  bytes: Uint8Array,
  { name, limits, collector }: { name: string; limits: PackageLimits; collector: PackageCollector },
): Promise<Uint8Array> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  // Headers and padding come on top of the files' own bytes.
  const most = limits.package_unpacked_bytes + 2048 * (limits.package_files + 2);
  const ratio = limits.package_ratio * bytes.length + 1024 * 1024;
  const plain = await gunzipCapped(bytes, Math.min(most, ratio));
  if (plain === "damaged") throw packageError(name, "it is no whole gzip archive");
  if (plain !== "too_large") return plain;
  throw ratio < most
    ? collector.tooLarge("package_ratio", "times its own size in it")
    : collector.tooLarge("package_unpacked_bytes", "bytes");
}

function takeEntry(
  entry: ArchiveEntry,
  { collector, top }: { collector: PackageCollector; top: string | null },
): string {
  const { path, type, size, mode = 0 } = entry;
  const isFolder = type === "Directory";
  if (!isFolder && type !== "File" && type !== "OldFile") throw wrongKind(collector, path, type);
  if ((mode & 0o6000) !== 0) throw collector.refusal(path, "would run with another user's rights");
  const whole = isFolder ? path.replace(/\/$/, "") : path;
  const [first = "", ...rest] = whole.split("/");
  if (top !== null && top !== first) throw collector.refusal(path, `lies outside the folder ${JSON.stringify(top)}`);
  const own = rest.join("/");
  if (own === "") {
    const fault = isFolder ? pathFault(first) : "lies in no folder";
    if (fault === null) return first;
    throw collector.refusal(path, fault);
  }
  const fault = pathFault(first);
  if (fault !== null) throw collector.refusal(path, fault);
  collector.claim(own, { kind: isFolder ? "folder" : "file", bytes: size });
  if (isFolder) return first;
  const content = new Uint8Array(size);
  let filled = 0;
  collector.add(own, content);
  entry.on("data", (chunk) => {
    content.set(chunk, filled);
    filled += chunk.length;
  });
  return first;
}

function wrongKind(collector: PackageCollector, path: string, type: string): Error {
  return collector.refusal(path, `is no plain file or folder but a ${type}`);
}

function damaged(name: string, error: unknown): Error {
  const why = error instanceof Error ? error.message.replace(/\.$/, "") : String(error);
  return packageError(name, `it is no whole archive (${why})`);
}
