/**
 * Collects garbage where the runtime was started so that it can be asked to (`--expose-gc`), and says whether it was.
 * What memory a program holds can only be told after that.
 */
export function collectGarbage(): boolean {
  const collect: unknown = Reflect.get(globalThis, "gc");
  if (typeof collect !== "function") return false;
  // What one collection finalises the next one frees.
  for (let time = 0; time < 3; time++) collect();
  return true;
}
