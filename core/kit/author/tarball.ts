import { crc32 } from "../../ground/platform/files/hash.ts";
import { joinBytes } from "../../ground/platform/files/join-bytes.ts";

/** One file of an archive. */
export interface PackedFile {
  /** Relative, with `/`. */
  path: string;
  bytes: Uint8Array;
  executable?: boolean;
}

const blockBytes = 512;
/** Time that npm puts into each of its own packages: no machine's clock may show in the bytes. */
const packedAt = 499_162_500;

/**
 * Files as an npm package: a gzipped tar with everything below `package/`. The same files give the same bytes on every
 * machine and runtime, so nothing is compressed: what a compressor makes differs from one to the next.
 * @throws {RangeError} for a path of more than 99 bytes below `package/`
 */
export function makeTarball(files: readonly PackedFile[]): Uint8Array {
  const sorted = [...files].sort((a, b) => (a.path < b.path ? -1 : 1));
  const parts = sorted.flatMap(({ path, bytes, executable }) => {
    const padding = new Uint8Array((blockBytes - (bytes.length % blockBytes)) % blockBytes);
    return [header(`package/${path}`, { size: bytes.length, mode: executable ? 0o755 : 0o644 }), bytes, padding];
  });
  return gzipStored(joinBytes([...parts, new Uint8Array(2 * blockBytes)]));
}

/** A header of POSIX ustar. */
function header(name: string, { size, mode }: { size: number; mode: number }): Uint8Array {
  const block = new Uint8Array(blockBytes);
  const write = (text: string, at: number) => block.set(new TextEncoder().encode(text), at);
  if (new TextEncoder().encode(name).length > 99) throw new RangeError(`The path "${name}" is too long for a package.`);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;
  write(name, 0);
  write(octal(mode, 7), 100);
  write(octal(0, 7), 108);
  write(octal(0, 7), 116);
  write(octal(size, 11), 124);
  write(octal(packedAt, 11), 136);
  // The sum counts its own field as blanks.
  write("        ", 148);
  write("0", 156);
  write("ustar\x0000", 257);
  write(`${octal(block.reduce((sum, byte) => sum + byte, 0), 6)} `, 148);
  return block;
}

/** Gzip around blocks that are stored as they are. */
function gzipStored(data: Uint8Array): Uint8Array {
  const most = 0xffff;
  const parts: Uint8Array[] = [new Uint8Array([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255])];
  for (let at = 0; at < data.length; at += most) {
    const piece = data.subarray(at, at + most);
    const last = at + most >= data.length ? 1 : 0;
    const { length } = piece;
    parts.push(
      new Uint8Array([last, length & 255, length >> 8, ~length & 255, (~length >> 8) & 255]),
      piece,
    );
  }
  const tail = new DataView(new ArrayBuffer(8));
  tail.setUint32(0, crc32(data), true);
  tail.setUint32(4, data.length, true);
  return joinBytes([...parts, new Uint8Array(tail.buffer)]);
}
