import type { Readable } from "node:stream";

/** Bytes that are pulled, one read at a time. */
export interface ByteReader {
  /**
   * The next piece, or null at the end.
   * @throws the source's error
   */
  read(): Promise<Uint8Array | null>;
  /** Discards the rest. */
  cancel(): void;
  /** True once the source has delivered its last byte, read or not. */
  readonly ended: boolean;
}

interface PullReaderOptions {
  /** Bytes held for the reader before the source is paused. */
  maxBuffered?: number;
  /** Total bytes; more make `tooLarge()` the reader's error. */
  maxTotal?: number;
  tooLarge?: () => Error;
  /** `drain` reads on and discards, so that a program does not block on a full pipe; `destroy` closes the source. */
  onCancel: "drain" | "destroy";
}

/** Memory that a piece takes beside its bytes. */
const pieceBytes = 128;

/** Looks in a time of silence. Between two of them the event loop reads what is there. */
const looks = 4;

/** Turns a Node stream into a {@link ByteReader} with a bounded buffer; a full one pauses the source. */
export class PullReader implements ByteReader {
  #source: Readable;
  #options: PullReaderOptions;
  #maxBuffered: number;
  #chunks: Uint8Array[] = [];
  #buffered = 0;
  #total = 0;
  #ended = false;
  #error: unknown = null;
  #cancelled = false;
  #wake: (() => void) | null = null;
  #silence: ReturnType<typeof setInterval> | null = null;
  #silentLooks = 0;

  constructor(source: Readable, options: PullReaderOptions) {
    this.#source = source;
    this.#options = options;
    this.#maxBuffered = options.maxBuffered ?? 256 * 1024;
    source.on("error", (error) => this.#finish(error));
    source.on("end", () => this.#finish(null));
    source.on("close", () => this.#finish(null));
    source.on("data", (chunk: Uint8Array) => this.#take(chunk));
  }

  get ended(): boolean {
    return this.#ended;
  }

  async read(): Promise<Uint8Array | null> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) {
        this.#buffered -= chunk.byteLength + pieceBytes;
        if (this.#buffered < this.#maxBuffered / 2 && !this.#ended) this.#source.resume();
        return chunk;
      }
      if (this.#error !== null) throw this.#error;
      if (this.#ended || this.#cancelled) return null;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  cancel(): void {
    this.#cancelled = true;
    this.#chunks = [];
    this.#buffered = 0;
    if (this.#options.onCancel === "destroy") this.#source.destroy();
    else if (!this.#ended) this.#source.resume();
    this.#wakeReader();
  }

  /**
   * Ends the reading after a silence: a program that exited may have left a child that holds its pipe open forever. It is
   * no silence while the source is paused here, or while a busy host has not read what came: so it looks a few times.
   */
  endAfterSilence(ms: number): void {
    if (this.#ended) return;
    this.#silence = setInterval(() => {
      this.#silentLooks = this.#source.isPaused() ? 0 : this.#silentLooks + 1;
      if (this.#silentLooks < looks) return;
      this.#source.destroy();
      this.#finish(null);
    }, ms / looks);
  }

  #take(chunk: Uint8Array): void {
    if (this.#ended) return;
    this.#silentLooks = 0;
    this.#total += chunk.byteLength;
    if (this.#total > (this.#options.maxTotal ?? Infinity)) {
      this.#finish(this.#options.tooLarge?.() ?? new RangeError("The stream is larger than allowed."));
      this.#source.destroy();
      return;
    }
    if (this.#cancelled) return;
    this.#chunks.push(chunk);
    this.#buffered += chunk.byteLength + pieceBytes;
    if (this.#buffered >= this.#maxBuffered) this.#source.pause();
    this.#wakeReader();
  }

  #finish(error: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    if (this.#silence !== null) clearInterval(this.#silence);
    this.#wakeReader();
  }

  #wakeReader(): void {
    this.#wake?.();
    this.#wake = null;
  }
}
