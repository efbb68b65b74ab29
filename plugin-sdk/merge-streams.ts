/**
 * Merges streams in order of arrival; asks a source for more only when its last item was taken. The first failure ends
 * the merged stream. Leaving the loop closes every source.
 */
export async function* mergeStreams<T>(...sources: readonly AsyncIterable<T>[]): AsyncGenerator<T, void, void> {
  const iterators = sources.map((source) => source[Symbol.asyncIterator]());
  const ready: Arrival<T>[] = [];
  let wake: (() => void) | undefined;
  // Not Promise.race(): it would leave a reaction on a silent source's promise for each item of the others.
  const pull = (iterator: AsyncIterator<T>): void => {
    const arrive = (arrival: Arrival<T>): void => {
      ready.push(arrival);
      wake?.();
    };
    iterator.next().then(
      (result) => arrive({ iterator, result }),
      (failure: unknown) => arrive({ iterator, failure }),
    );
  };
  let open = iterators.length;
  try {
    for (const iterator of iterators) pull(iterator);
    while (open > 0) {
      const arrival = ready.shift();
      if (!arrival) await new Promise<void>((resolve) => wake = resolve);
      else if ("failure" in arrival) throw arrival.failure;
      else if (arrival.result.done) open--;
      else {
        yield arrival.result.value;
        pull(arrival.iterator);
      }
    }
  } finally {
    // Not awaited: a generator that still waits for its next item would answer only after that.
    for (const iterator of iterators) iterator.return?.().catch(() => {});
  }
}

type Arrival<T> =
  | { iterator: AsyncIterator<T>; result: IteratorResult<T> }
  | { iterator: AsyncIterator<T>; failure: unknown };
