/** Runs the function at once and returns its result or exception as a promise. */
export function promised<T>(make: () => T): Promise<T> {
  return new Promise((resolve) => resolve(make()));
}
