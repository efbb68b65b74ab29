import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Collects garbage and returns whether it could. Memory use can only be measured after that. */
export function collectGarbage(): boolean {
  const collect = findCollector();
  if (collect === null) return false;
  // One collection finalises objects and the next one frees them. Only the engine's last resort returns the pages it
  // keeps, and older engines (V8 11 of Node 20) do not have it and then collect nothing at all.
  for (let time = 0; time < 3; time++) {
    collect();
    collect({ type: "major", execution: "sync", flavor: "last-resort" });
  }
  return true;
}

/** Collects garbage once, in some 20 ms, so that native code releases its memory; nothing where it cannot. */
export function collectGarbageOnce(): void {
  // Without options: with some, older engines (V8 11 of Node 20) collect short-lived objects alone.
  findCollector()?.();
}

type Collector = (options?: object) => void;

function findCollector(): Collector | null {
  const own: unknown = Reflect.get(globalThis, "gc");
  if (typeof own === "function") return own as Collector;
  try {
    // Only a realm made after setting the flag has it; the flags of the process do not matter.
    setFlagsFromString("--expose-gc");
    const made: unknown = runInNewContext("gc");
    return typeof made === "function" ? made as Collector : null;
  } catch {
    return null;
  } finally {
    // The engine takes back code only with the flags that it was made with.
    setFlagsFromString("--no-expose-gc");
  }
}
