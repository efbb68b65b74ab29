/**
 * Settles as the work does, or fails with the signal's reason as soon as that aborts. To pass the signal on is not enough:
 * `fetch` of Node loses it once the engine has collected the request's object, which happens while an answer is read.
 * Source: https://github.com/nodejs/undici/issues/3644
 */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | null | undefined): Promise<T> {
  if (!signal) return work;
  return new Promise<T>((resolve, reject) => {
    const end = () => reject(signal.reason);
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", end));
  });
}
