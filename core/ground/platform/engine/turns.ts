/** Acts of one kind that run or wait. */
interface Line {
  busy: number;
  waiting: (() => void)[];
}

/** Limits concurrent acts: of each name at most so many run, and the others wait in line. */
export class Turns {
  #lines = new Map<string, Line>();
  #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  /** Runs an act in its turn among those of the same name; returns its result or throws its error. */
  async take<T>(name: string, act: () => Promise<T>): Promise<T> {
    const line = this.#lines.get(name) ?? { busy: 0, waiting: [] };
    this.#lines.set(name, line);
    // A finished act hands its place to the next in line, so that a later one cannot slip in between.
    if (line.busy >= this.#most) await new Promise<void>((resolve) => line.waiting.push(resolve));
    else line.busy += 1;
    try {
      return await act();
    } finally {
      const next = line.waiting.shift();
      if (next) next();
      else line.busy -= 1;
      if (line.busy === 0) this.#lines.delete(name);
    }
  }
}
