import { viewOf } from "./file-blocks.ts";
import type { PageFile } from "./page-file.ts";

/** A value of a row; a text as bytes, because it may be damaged. */
export type CellValue = number | null | Uint8Array;

/** A row as it stands in a page. */
export interface LeafRow {
  rowid: number;
  values: CellValue[];
}

const tableLeaf = 0x0d;
/** No row of a journal is larger: an event has a limit of its own. */
const mostRowBytes = 64 * 1024 * 1024;

/** Reads rows of tables from the pages of a database, each on its own, without the tree above them. */
export class LeafCells {
  readonly #file: PageFile;
  /** Overflow pages that may still be read: garbage must not make this long. */
  #allowed: number;

  constructor(file: PageFile) {
    this.#file = file;
    this.#allowed = 4 * file.pageCount + 16;
  }

  /** Yields the rows of a page; none for a page that is no leaf of a table. Leaves out rows that cannot be read. */
  async *rowsOf(number: number): AsyncGenerator<LeafRow, void, void> {
    const start = number === 1 ? 100 : 0;
    for (const page of await this.#file.contents(number)) {
      if (page[start] !== tableLeaf) continue;
      const view = viewOf(page);
      const count = view.getUint16(start + 3);
      for (let at = 0; at < count && start + 10 + 2 * at <= page.length; at++) {
        const row = await this.#rowAt(page, view.getUint16(start + 8 + 2 * at)).catch(() => null);
        if (row !== null) yield row;
      }
    }
  }

  async #rowAt(page: Uint8Array, place: number): Promise<LeafRow | null> {
    const size = varintAt(page, place);
    const rowid = varintAt(page, size.end);
    if (size.value <= 0 || size.value > mostRowBytes || !Number.isSafeInteger(rowid.value)) return null;
    const payload = await this.#payload(page, { from: rowid.end, size: size.value });
    return payload === null ? null : { rowid: rowid.value, values: valuesOf(payload) };
  }

  async #payload(page: Uint8Array, { from, size }: { from: number; size: number }): Promise<Uint8Array | null> {
    const { usable } = this.#file;
    const most = usable - 35;
    if (size <= most) return from + size <= usable ? page.subarray(from, from + size) : null;
    const least = Math.floor((usable - 12) * 32 / 255) - 23;
    const wanted = least + (size - least) % (usable - 4);
    const local = wanted <= most ? wanted : least;
    if (from + local + 4 > usable) return null;
    const pages = Math.ceil((size - local) / (usable - 4));
    if (pages > this.#allowed || pages > this.#file.pageCount) return null;
    const payload = new Uint8Array(size);
    payload.set(page.subarray(from, from + local));
    let next = viewOf(page).getUint32(from + local);
    for (let filled = local; filled < size; filled += usable - 4) {
      this.#allowed--;
      const more = next === 0 ? null : await this.#file.page(next);
      if (more === null) return null;
      payload.set(more.subarray(4, Math.min(usable, 4 + size - filled)), filled);
      next = viewOf(more).getUint32(0);
    }
    return payload;
  }
}

/** A number of one to nine bytes. @throws {RangeError} beyond the end */
function varintAt(bytes: Uint8Array, at: number): { value: number; end: number } {
  let value = 0;
  for (let index = 0; index < 9; index++) {
    const byte = bytes[at + index];
    if (byte === undefined) throw new RangeError("a number goes on beyond the end");
    if (index === 8) return { value: value * 256 + byte, end: at + 9 };
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) return { value, end: at + index + 1 };
  }
  throw new RangeError("a number has too many bytes");
}

/** Bytes of the numbers of each type. */
const numberBytes: readonly number[] = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0];

/** @throws {RangeError} for a record that is damaged */
function valuesOf(payload: Uint8Array): CellValue[] {
  const head = varintAt(payload, 0);
  const values: CellValue[] = [];
  let place = head.value;
  for (let at = head.end; at < head.value;) {
    const { value: type, end } = varintAt(payload, at);
    at = end;
    const length = type < numberBytes.length ? numberBytes[type]! : type >= 12 ? Math.floor((type - 12) / 2) : -1;
    if (length < 0 || place + length > payload.length) throw new RangeError("a value goes on beyond the end");
    values.push(valueOf(type, payload.subarray(place, place + length)));
    place += length;
  }
  return values;
}

function valueOf(type: number, bytes: Uint8Array): CellValue {
  if (type === 0) return null;
  if (type === 8 || type === 9) return type - 8;
  if (type >= 12) return bytes;
  if (type === 7) throw new RangeError("no number of a journal has a fraction");
  let value = 0n;
  for (const byte of bytes) value = value * 256n + BigInt(byte);
  return Number(BigInt.asIntN(bytes.length * 8, value));
}
