/** Heights of many blocks below one another, measured or guessed, with a fast search in both directions. */
export class HeightIndex {
  #guess: number;
  #count = 0;
  #heights = new Float64Array(64);
  /** A Fenwick tree: entry `i` holds the sum of a range that ends at `i`. */
  #sums = new Float64Array(65);

  constructor(guess: number) {
    this.#guess = guess;
  }

  get count(): number {
    return this.#count;
  }

  get total(): number {
    return this.before(this.#count);
  }

  /** Adds blocks of a guessed height, or forgets all when there are fewer than before. */
  resize(count: number): void {
    if (count < this.#count) {
      this.#count = 0;
      this.#sums.fill(0);
    }
    if (count > this.#heights.length) this.#grow(count);
    for (let index = this.#count; index < count; index++) {
      this.#heights[index] = this.#guess;
      this.#sumUp(index);
    }
    this.#count = count;
  }

  /** Sets a measured height; returns by how much it differs from the one before. */
  set(index: number, height: number): number {
    const change = height - (this.#heights[index] ?? height);
    if (index >= this.#count || Math.abs(change) < 0.5) return 0;
    this.#heights[index] = height;
    for (let at = index + 1; at <= this.#count; at += at & -at) this.#sums[at] = (this.#sums[at] ?? 0) + change;
    return change;
  }

  /** The place where a block begins. */
  before(index: number): number {
    let sum = 0;
    for (let at = Math.min(index, this.#count); at > 0; at -= at & -at) sum += this.#sums[at] ?? 0;
    return sum;
  }

  at(place: number): number {
    let index = 0;
    let left = place;
    for (let step = 2 ** Math.floor(Math.log2(Math.max(1, this.#count))); step >= 1; step /= 2) {
      const sum = this.#sums[index + step];
      if (index + step > this.#count || sum === undefined || sum > left) continue;
      index += step;
      left -= sum;
    }
    return Math.max(0, Math.min(index, this.#count - 1));
  }

  #sumUp(index: number): void {
    const at = index + 1;
    let sum = this.#heights[index] ?? 0;
    for (let step = 1; step < (at & -at); step *= 2) sum += this.#sums[at - step] ?? 0;
    this.#sums[at] = sum;
  }

  #grow(count: number): void {
    const size = Math.max(count, this.#heights.length * 2);
    const heights = new Float64Array(size);
    heights.set(this.#heights);
    const sums = new Float64Array(size + 1);
    sums.set(this.#sums);
    this.#heights = heights;
    this.#sums = sums;
  }
}
