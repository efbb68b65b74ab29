/** A queue for one reader. The writer can wait until its items were taken, so that nothing piles up. */
export class BatchQueue<T> {
  #added: (readonly T[])[] = [];
  #ended = false;
  #failure: { thrown: unknown } | null = null;
  #wake: (() => void) | null = null;
  #taken: (() => void)[] = [];

  push(items: readonly T[]): void {
    if (this.#ended || items.length === 0) return;
    this.#added.push(items);
    this.#signal();
  }

  /** Ends the queue; with `thrown` the reader gets that after the last item. */
  end(failure: { thrown: unknown } | null = null): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#failure = failure;
    this.#signal();
  }

  /** Resolves once all items were taken, or the reader wants no more. */
  async drained(): Promise<void> {
    if (this.#added.length > 0 && !this.#ended) await new Promise<void>((resolve) => this.#taken.push(resolve));
  }

  /** Yields the items added since the last batch; only one reader may call it. */
  async *batches(): AsyncGenerator<T[], void, void> {
    try {
      while (true) {
        if (this.#added.length > 0) yield this.#take();
        else if (this.#ended) break;
        else await new Promise<void>((resolve) => this.#wake = resolve);
      }
      if (this.#failure) throw this.#failure.thrown;
    } finally {
      this.#ended = true;
      this.#release();
    }
  }

  #take(): T[] {
    const added = this.#added;
    this.#added = [];
    this.#release();
    return added.flat() as T[];
  }

  #release(): void {
    for (const resolve of this.#taken.splice(0)) resolve();
  }

  #signal(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }
}
