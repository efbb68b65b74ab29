import { joinBytes } from "./join-bytes.ts";

/** Bytes of the smallest block, and of the largest one that is made before it is needed. */
const smallestBlock = 256;
const largestBlock = 1024 * 1024;

/** Collects bytes that come in pieces of any size: they take at most twice their own memory, however small the pieces are. */
export class GrownBytes {
  #full: Uint8Array[] = [];
  #block = new Uint8Array();
  #used = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Adds a copy of a piece. */
  push(piece: Uint8Array): void {
    this.#length += piece.length;
    let rest = piece;
    while (rest.length > 0) {
      if (this.#used === this.#block.length) this.#addBlock(rest.length);
      const part = rest.subarray(0, this.#block.length - this.#used);
      this.#block.set(part, this.#used);
      this.#used += part.length;
      rest = rest.subarray(part.length);
    }
  }

  /** Returns all bytes, and holds none any more. */
  take(): Uint8Array<ArrayBuffer> {
    const joined = joinBytes([...this.#full, this.#block.subarray(0, this.#used)]);
    this.clear();
    return joined;
  }

  clear(): void {
    this.#full = [];
    this.#block = new Uint8Array();
    this.#used = this.#length = 0;
  }

  #addBlock(needed: number): void {
    if (this.#used > 0) this.#full.push(this.#block);
    const grown = Math.min(this.#full.reduce((sum, { length }) => sum + length, 0), largestBlock);
    this.#block = new Uint8Array(Math.max(needed, grown, smallestBlock));
    this.#used = 0;
  }
}
