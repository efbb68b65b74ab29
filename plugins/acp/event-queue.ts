import type { AdapterEvent } from "bulkhead/plugin-sdk";

/** Events on their way to the host. Whoever adds can wait until they were taken, so that nothing piles up. */
export class EventQueue {
  #events: AdapterEvent[] = [];
  #ended = false;
  #failure: { thrown: unknown } | null = null;
  #wake: (() => void) | null = null;
  #taken: (() => void)[] = [];

  push(events: readonly AdapterEvent[]): void {
    if (this.#ended || events.length === 0) return;
    this.#events.push(...events);
    this.#signal();
  }

  /** No more events will come; with `thrown` the one who reads gets that after the last one. */
  end(failure: { thrown: unknown } | null = null): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#failure = failure;
    this.#signal();
  }

  /** Resolves once the host has taken all there is, or wants no more. */
  async drained(): Promise<void> {
    if (this.#events.length > 0 && !this.#ended) await new Promise<void>((resolve) => this.#taken.push(resolve));
  }

  /** What was added since it was last asked; to be read once. */
  async *batches(): AsyncGenerator<AdapterEvent[], void, void> {
    try {
      while (true) {
        if (this.#events.length > 0) yield this.#take();
        else if (this.#ended) break;
        else await new Promise<void>((resolve) => this.#wake = resolve);
      }
      if (this.#failure) throw this.#failure.thrown;
    } finally {
      this.#ended = true;
      this.#release();
    }
  }

  #take(): AdapterEvent[] {
    const events = this.#events;
    this.#events = [];
    this.#release();
    return events;
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
