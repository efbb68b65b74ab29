import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { startBackgroundTimer } from "./background-timer.ts";

/** A setting of the engine: how it is while a daemon starts, and how it is by default. */
interface BootFlag {
  boot: string;
  work: string;
}

/**
 * The space for short-lived objects stays as small as it starts: while a daemon loads its modules it would grow by some
 * 18 MB, and an idle process gives little of it back. Work needs it to grow with what is allocated.
 */
const youngGeneration: BootFlag = { boot: "--semi-space-growth-factor=1", work: "--semi-space-growth-factor=2" };

/** A few loops of a start do not gain what the optimizing compiler costs: 4 MB of its own code come into memory. */
const optimizer: BootFlag = { boot: "--no-opt", work: "--opt" };

/** Nor what its simpler compiler makes of functions that run once or twice more. */
const baseline: BootFlag = { boot: "--no-sparkplug", work: "--sparkplug" };

const all = [optimizer, baseline, youngGeneration];

/** Sets the engine up for the start of a daemon. */
export function setBootFlags(): void {
  for (const { boot } of all) setFlagsFromString(boot);
}

/** Lets the engine optimize what runs often. */
export function letEngineOptimize(): void {
  for (const { work } of [optimizer, baseline]) setFlagsFromString(work);
}

/**
 * Size up to which the space for short-lived objects grows while sessions start, in bytes. What a start makes is
 * soon garbage, but a hundred starts at once would double that space, and a host then holds 17 MB more for good.
 */
const enoughYoung = 16 * 1024 * 1024;

/**
 * Time after a start of a session in which that holds. Later the space grows with what is allocated: a host that floods its
 * readers is 9 % faster with it. Milliseconds.
 */
const startMs = 5000;

/** When the start that came last is over; null while none is. */
let startsUntil: number | null = null;

/** The space grows at collections alone, at most twofold each time. Deno reports none. */
const collections = new PerformanceObserver(growUpToEnough);

/** Lets the space grow where that does not take it over the size. */
function growUpToEnough(): void {
  setFlagsFromString(youngBytes() * 2 <= enoughYoung ? youngGeneration.work : youngGeneration.boot);
}

/**
 * Lets the space for short-lived objects grow from now on, and up to a size only while a session starts.
 * @param ms how long a start takes at most
 */
export function letYoungGenerationGrow(ms: number = startMs): void {
  const isStarting = startsUntil !== null;
  startsUntil = performance.now() + ms;
  if (isStarting) return;
  growUpToEnough();
  collections.observe({ entryTypes: ["gc"] });
  awaitStarts(ms);
}

function awaitStarts(ms: number): void {
  startBackgroundTimer(() => {
    const left = startsUntil! - performance.now();
    if (left > 0) return awaitStarts(left);
    startsUntil = null;
    collections.disconnect();
    setFlagsFromString(youngGeneration.work);
  }, ms);
}

function youngBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space")?.space_size ?? 0;
}

/**
 * Does something with the flags of the start where those bring about a condition that does not hold.
 * @returns undefined where they do not either
 */
export function withBootFlags<T>(isMet: () => boolean, act: () => T): T | undefined {
  const changed: BootFlag[] = [];
  try {
    for (const flag of all) {
      if (isMet()) break;
      setFlagsFromString(flag.boot);
      changed.push(flag);
    }
    return isMet() ? act() : undefined;
  } finally {
    for (const { work } of changed) setFlagsFromString(work);
  }
}
