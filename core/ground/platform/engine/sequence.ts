/** Runs acts one after the other, in the order in which they were asked for. */
export class Sequence {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs an act once those before it have settled, whether they failed or not. */
  run<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(act);
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}
