/** What the function gives or throws, as a promise; the function runs at once. */
export function promised<T>(make: () => T): Promise<T> {
  return new Promise((resolve) => resolve(make()));
}
