/** Yields until the signal aborts, and leaves the source at once then, also one that is in the middle of a step. */
export async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T, void, void> {
  const iterator = source[Symbol.asyncIterator]();
  let stop: () => void = () => {};
  const aborted = new Promise<null>((resolve) => stop = () => resolve(null));
  signal.addEventListener("abort", stop, { once: true });
  let isOver = false;
  try {
    while (!signal.aborted) {
      const step = iterator.next();
      const next = await Promise.race([step, aborted]);
      if (next === null) step.catch(() => {});
      isOver = next?.done === true;
      if (next === null || next.done === true) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    // Do not wait after an abort: a generator answers only once its step has ended.
    const left = isOver ? undefined : iterator.return?.().catch(() => {});
    if (!signal.aborted) await left;
  }
}
