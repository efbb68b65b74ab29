/** Characters of pieces that are joined at a time. */
const blockCharacters = 4096;

/**
 * Keeps the end of a text that comes in pieces, at a steady cost for each piece and with no memory of the pieces. A string
 * that grows by `+=` holds each piece until it is read: ten characters of a model's token then take over sixty bytes.
 */
export class TextTail {
  readonly #most: number;
  #blocks: string[] = [];
  #pieces: string[] = [];
  #blocksLength = 0;
  #piecesLength = 0;
  #isCut = false;

  /** @param most UTF-16 units that are kept */
  constructor(most: number) {
    this.#most = most;
  }

  /** Adds a piece at the end. */
  add(piece: string): void {
    if (piece === "") return;
    this.#pieces.push(piece);
    this.#piecesLength += piece.length;
    if (this.#piecesLength >= blockCharacters) this.#joinPieces();
  }

  /** Forgets the text. */
  clear(): void {
    this.#blocks = [];
    this.#pieces = [];
    this.#blocksLength = this.#piecesLength = 0;
    this.#isCut = false;
  }

  /** True once the text was longer than what is kept. */
  get isCut(): boolean {
    return this.#isCut || this.#blocksLength + this.#piecesLength > this.#most;
  }

  /** The end of the text; it never begins with half a character. */
  get text(): string {
    const kept = [...this.#blocks, ...this.#pieces].join("");
    if (!this.isCut) return kept;
    const end = kept.slice(Math.max(0, kept.length - this.#most));
    return /^[\udc00-\udfff]/.test(end) ? end.slice(1) : end;
  }

  #joinPieces(): void {
    const block = this.#pieces.join("");
    this.#blocks.push(block);
    this.#blocksLength += block.length;
    this.#pieces = [];
    this.#piecesLength = 0;
    while (this.#blocks.length > 0 && this.#blocksLength - this.#blocks[0]!.length >= this.#most) {
      this.#blocksLength -= this.#blocks.shift()!.length;
      this.#isCut = true;
    }
  }
}
