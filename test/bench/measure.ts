import process from "node:process";

/** A figure of one benchmark. */
export interface Figure {
  name: string;
  value: number;
  unit: "ratio" | "ms" | "per_second" | "mb_per_second" | "mb" | "count";
  /** The smallest and the largest of the repetitions whose median the value is. */
  least?: number;
  most?: number;
  /** What is aimed at, such as `<= 2`. */
  aim?: string;
  met?: boolean;
}

/** A figure with an aim. An aim is reported, never asserted: machines differ. */
export function aimed(figure: Figure, aim: { most?: number; least?: number }): Figure {
  const { most = Infinity, least = -Infinity } = aim;
  const words = aim.most === undefined ? `>= ${least}` : `<= ${most}`;
  return { ...figure, aim: words, met: figure.value <= most && figure.value >= least };
}

/** The value below which a share of all values lies; 0.5 is the median. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

/** How long something takes, in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/** Resident memory of this process in megabytes, after a collection where the runtime was started with `--expose-gc`. */
export function residentMb(): number {
  const { gc } = globalThis as { gc?: () => void };
  gc?.();
  gc?.();
  return process.memoryUsage.rss() / 1024 / 1024;
}
