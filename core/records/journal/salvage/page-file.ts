import { Breath } from "../../../ground/platform/engine/breath.ts";
import { FileBlocks, viewOf } from "./file-blocks.ts";
import { defaultPageSize, isPageSize, type LogFrames, readLog } from "./log-frames.ts";

const headerBytes = 100;

/** The pages of a SQLite database and its log, read as bytes, since SQLite gives up at the first damaged one. */
export class PageFile {
  readonly #main: FileBlocks;
  readonly #log: FileBlocks;
  readonly #frames: LogFrames;
  readonly pageSize: number;
  /** Bytes of a page that hold content. */
  readonly usable: number;
  readonly pageCount: number;
  /** Version of the schema; null where the first page cannot be read. */
  readonly version: number | null;

  static async open(file: string): Promise<PageFile> {
    const main = await FileBlocks.open(file);
    try {
      const log = await FileBlocks.open(`${file}-wal`);
      try {
        const frames = await readLog(log, { usualPageSize: defaultPageSize, breath: new Breath() });
        const place = frames.pages.get(1);
        const header = place === undefined ? await main.read(0, headerBytes) : await log.read(place, headerBytes);
        return new PageFile({ main, log, frames, header });
      } catch (error) {
        await log.close();
        throw error;
      }
    } catch (error) {
      await main.close();
      throw error;
    }
  }

  private constructor({ main, log, frames, header }: {
    main: FileBlocks;
    log: FileBlocks;
    frames: LogFrames;
    header: Uint8Array | null;
  }) {
    this.#main = main;
    this.#log = log;
    this.#frames = frames;
    const first = header === null || !isHeader(header) ? null : new DataView(header.buffer, header.byteOffset);
    const told = first?.getUint16(16) ?? 0;
    const size = told === 1 ? 65536 : told;
    this.pageSize = isPageSize(size) ? size : frames.pageSize ?? defaultPageSize;
    this.usable = this.pageSize - (first?.getUint8(20) ?? 0);
    this.version = first?.getUint32(60) ?? null;
    this.pageCount = Math.max(Math.floor(main.size / this.pageSize), ...lastOf(frames.pages.keys()));
  }

  /** Frames of the log that cannot be read. */
  get damagedFrames(): number {
    return this.#frames.damaged;
  }

  /** A page, from 1; null where it cannot be read. */
  async page(number: number): Promise<Uint8Array | null> {
    const place = this.#frames.pages.get(number);
    if (place !== undefined && this.#frames.pageSize === this.pageSize) {
      return await this.#log.read(place, this.pageSize);
    }
    return await this.#main.read((number - 1) * this.pageSize, this.pageSize);
  }

  /** All contents of a page. A damaged log may hold an older one than the database, so both count. */
  async contents(number: number): Promise<Uint8Array[]> {
    const newest = await this.page(number);
    const isInLog = this.#frames.damaged > 0 && this.#frames.pages.has(number);
    const other = isInLog ? await this.#main.read((number - 1) * this.pageSize, this.pageSize) : null;
    return [newest, other].filter((page) => page !== null);
  }

  /** Pages that are not in use: what stands in them was deleted. Empty where the list of them cannot be read. */
  async freePages(): Promise<Set<number>> {
    const free = new Set<number>();
    if (this.version === null) return free;
    const first = await this.page(1);
    let trunk = first === null ? 0 : viewOf(first).getUint32(32);
    while (trunk > 0 && trunk <= this.pageCount && !free.has(trunk)) {
      const page = await this.page(trunk);
      free.add(trunk);
      if (page === null) break;
      const view = viewOf(page);
      const leaves = Math.min(view.getUint32(4), this.usable / 4 - 2);
      for (let at = 0; at < leaves; at++) free.add(view.getUint32(8 + 4 * at));
      trunk = view.getUint32(0);
    }
    return free;
  }

  async close(): Promise<void> {
    await this.#main.close();
    await this.#log.close();
  }
}

function isHeader(bytes: Uint8Array): boolean {
  return new TextDecoder("latin1").decode(bytes.subarray(0, 16)) === "SQLite format 3\0";
}

/** The largest of some numbers, as a list; empty for none. */
function lastOf(numbers: Iterable<number>): number[] {
  let last = 0;
  for (const number of numbers) last = Math.max(last, number);
  return last === 0 ? [] : [last];
}
