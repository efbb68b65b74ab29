/** Containers without work that a host keeps for the next sessions of their plugins. Each takes about 60 MB. */
const mostIdle = 8;

/** The containers of a host that have no work: beyond a few, the one that has waited longest ends. */
export class IdleContainers {
  readonly #most: number;
  /** Functions that end each one, in the order in which they lost their work. */
  readonly #ends = new Set<() => void>();

  constructor(most: number = mostIdle) {
    this.#most = most;
  }

  add(end: () => void): void {
    this.#ends.delete(end);
    this.#ends.add(end);
    const [longest] = this.#ends;
    if (longest === undefined || this.#ends.size <= this.#most) return;
    this.#ends.delete(longest);
    longest();
  }

  /** Notes that it has work, or is gone. */
  remove(end: () => void): void {
    this.#ends.delete(end);
  }
}
