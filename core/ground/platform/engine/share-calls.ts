/** Lets callers share the runs of something slow. Each gets the outcome of a run that began after its call. */
export function shareCalls<T>(run: () => Promise<T>): () => Promise<T> {
  let running: Promise<void> | null = null;
  let next: Promise<T> | null = null;
  return () => {
    if (next !== null) return next;
    return running === null ? begin() : next = running.then(begin);
  };

  function begin(): Promise<T> {
    next = null;
    const outcome = run();
    const over = running = outcome.then(() => {}, () => {}).then(() => {
      if (running === over) running = null;
    });
    return outcome;
  }
}
