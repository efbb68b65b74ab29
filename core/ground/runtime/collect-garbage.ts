import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Collects garbage and says whether that could be done. What memory a program holds can only be told after that. */
export function collectGarbage(): boolean {
  const collect = findCollector();
  if (collect === null) return false;
  // What one collection finalises the next one frees. Only the engine's last resort gives back the pages it keeps, and
  // older engines (V8 11 of Node 20) know no such thing and then collect nothing at all.
  for (let time = 0; time < 3; time++) {
    collect();
    collect({ type: "major", execution: "sync", flavor: "last-resort" });
  }
  return true;
}

type Collector = (options?: object) => void;

function findCollector(): Collector | null {
  const own: unknown = Reflect.get(globalThis, "gc");
  if (typeof own === "function") return own as Collector;
  try {
    // A realm that is made after the flag was set has it, whatever the process was started with.
    setFlagsFromString("--expose-gc");
    const made: unknown = runInNewContext("gc");
    return typeof made === "function" ? made as Collector : null;
  } catch {
    return null;
  }
}
