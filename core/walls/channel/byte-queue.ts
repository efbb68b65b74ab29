/** Items that wait for a reader, first in, first out. {@link offer} refuses what does not fit. */
export class ByteQueue<T> {
  readonly mostBytes: number;
  #items: { item: T; bytes: number }[] = [];
  #bytes = 0;

  /** @param mostBytes bytes of all items together */
  constructor(mostBytes: number) {
    this.mostBytes = mostBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** How many items wait. */
  get length(): number {
    return this.#items.length;
  }

  /** Adds an item of so many bytes; false, and nothing is added, where it does not fit. */
  offer(item: T, bytes: number): boolean {
    if (this.#bytes + bytes > this.mostBytes) return false;
    this.#items.push({ item, bytes });
    this.#bytes += bytes;
    return true;
  }

  /** The item that waits longest; undefined where none does. It stays. */
  peek(): T | undefined {
    return this.#items[0]?.item;
  }

  /** Takes the item that waits longest; undefined where none does. */
  take(): T | undefined {
    const first = this.#items.shift();
    this.#bytes -= first?.bytes ?? 0;
    return first?.item;
  }

  takeAll(): T[] {
    const items = this.#items.map(({ item }) => item);
    this.#items = [];
    this.#bytes = 0;
    return items;
  }

  /** All items in order, without taking them. */
  *[Symbol.iterator](): Iterator<T> {
    for (const { item } of this.#items) yield item;
  }
}
