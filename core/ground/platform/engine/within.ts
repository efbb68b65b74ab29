/** Waits for work to settle, but not longer than `ms`; false when it was late. What the work rejects with is thrown. */
export async function within(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => (timer = setTimeout(() => resolve(false), ms)));
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits for work, but not longer than until the signal aborts: then it throws the signal's reason. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let stop!: () => void;
  const aborted = new Promise<never>((_, reject) => (stop = () => reject(signal.reason)));
  signal.addEventListener("abort", stop);
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Gives work a signal that aborts with the caller's, though no longer once the work has settled. */
export async function whileItLasts<T>(caller: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const own = new AbortController();
  const abort = () => own.abort(caller.reason);
  if (caller.aborted) abort();
  caller.addEventListener("abort", abort, { once: true });
  try {
    return await work(own.signal);
  } finally {
    caller.removeEventListener("abort", abort);
  }
}
