import { nullIfMissing } from "../../../ground/errors/write-fault.ts";
import { open } from "../../../ground/platform/files/files.ts";

const blockBytes = 256 * 1024;
/** Blocks that are kept: a page is near the one before it, and its overflow pages are near it. */
const mostBlocks = 32;

type OpenFile = Awaited<ReturnType<typeof open>>;

/** The bytes of a file, read in blocks. What the disk cannot give reads as not there. */
export class FileBlocks {
  readonly #file: OpenFile | null;
  readonly #blocks = new Map<number, Uint8Array>();
  readonly size: number;

  private constructor(file: OpenFile | null, size: number) {
    this.#file = file;
    this.size = size;
  }

  /** Opens a file; one that is not there has no bytes. */
  static async open(path: string): Promise<FileBlocks> {
    const file = await open(path, "r").catch(nullIfMissing);
    return new FileBlocks(file, file === null ? 0 : (await file.stat()).size);
  }

  /** Bytes of the file; null where not all of them are there. */
  async read(from: number, length: number): Promise<Uint8Array | null> {
    if (from < 0 || from + length > this.size) return null;
    const first = Math.floor(from / blockBytes);
    const block = await this.#block(first);
    const start = from - first * blockBytes;
    if (start + length <= block.length) return block.subarray(start, start + length);
    const whole = new Uint8Array(length);
    let filled = 0;
    for (let at = first; filled < length; at++) {
      const piece = (await this.#block(at)).subarray(at === first ? start : 0).subarray(0, length - filled);
      if (piece.length === 0) return null;
      whole.set(piece, filled);
      filled += piece.length;
    }
    return whole;
  }

  async close(): Promise<void> {
    await this.#file?.close();
  }

  async #block(at: number): Promise<Uint8Array> {
    const kept = this.#blocks.get(at);
    if (kept !== undefined) return kept;
    const bytes = new Uint8Array(blockBytes);
    const read = await this.#file?.read(bytes, 0, blockBytes, at * blockBytes).catch(() => null);
    const block = bytes.subarray(0, read?.bytesRead ?? 0);
    if (this.#blocks.size >= mostBlocks) this.#blocks.delete(this.#blocks.keys().next().value!);
    this.#blocks.set(at, block);
    return block;
  }
}

/** Numbers in some bytes. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
