/** Puts an entry at the end of a map, and drops the oldest ones beyond so many. */
export function keepNewest<K, V>(map: Map<K, V>, [key, value]: readonly [K, V], most: number): void {
  map.delete(key);
  map.set(key, value);
  for (const [oldest] of [...map].slice(0, -most)) map.delete(oldest);
}
