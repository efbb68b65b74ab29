interface Kept {
  pluginId: string;
  end(): void;
}

/**
 * The sessions of a host that rest with their agent's program kept. Where there are too many, or another session waits for
 * such a place, the one that has rested longest ends: its next message costs a start-up, nothing else.
 */
export class KeptSessions {
  readonly #most: () => number;
  /** The longest kept first. */
  readonly #kept = new Set<Kept>();

  constructor(most: () => number) {
    this.#most = most;
  }

  /** Takes a session that begins to rest; what it returns is called when it rests no more. */
  enter(pluginId: string, end: () => void): () => void {
    const one = { pluginId, end };
    this.#kept.add(one);
    while (this.#kept.size > this.#most()) this.endOne();
    return () => void this.#kept.delete(one);
  }

  /** Number of those that rest, of one plugin or of all. */
  count(pluginId?: string): number {
    return pluginId === undefined ? this.#kept.size : this.#of(pluginId).length;
  }

  /** Ends the one that has rested longest, of one plugin or of all. */
  endOne(pluginId?: string): void {
    const [longest] = pluginId === undefined ? this.#kept : this.#of(pluginId);
    if (longest === undefined) return;
    this.#kept.delete(longest);
    longest.end();
  }

  #of(pluginId: string): Kept[] {
    return [...this.#kept].filter((one) => one.pluginId === pluginId);
  }
}
