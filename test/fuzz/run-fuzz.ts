import process from "node:process";
import { isErrorCode } from "../../plugin-sdk/errors.ts";
import { mutateText } from "./mutate.ts";
import { Random } from "./random.ts";
import type { Target } from "./target.ts";
import { targets } from "./targets/all.ts";

/** One input that showed a fault. */
export interface Find {
  target: string;
  input: string;
  /** What was wrong, in a sentence. */
  problem: string;
}

/** Options of {@link runFuzz}. */
export interface FuzzOptions {
  seed: number;
  /** Inputs. */
  runs: number;
  /** Name of the one target to try; default: all. */
  only?: string;
  onFind?(find: Find): void;
  /** Told before each input, so that a watchdog can say which one never came back. */
  onInput?(input: { run: number; target: string; input: string }): void;
}

/** Most processor time that reading one input may take, with all that the runtime does beside it. */
const mostMs = 1500;

/** Feeds mutated inputs to every target, the same ones for the same seed. */
export async function runFuzz({ seed, runs, only, onFind, onInput }: FuzzOptions): Promise<Find[]> {
  const chosen = targets.filter(({ name }) => only === undefined || name === only);
  const tickets = chosen.flatMap((target) => Array.from({ length: target.weight }, () => target));
  const finds: Find[] = [];
  try {
    for (let run = 0; run < runs; run++) {
      const random = new Random(seed + Math.imul(run, 0x9e3779b1));
      const target = random.pick(tickets);
      const { seeds: others, tokens } = target;
      const input = mutateText(random, { text: random.pick(others), others, tokens });
      onInput?.({ run, target: target.name, input });
      const problem = await judge(target, input);
      if (problem === null) continue;
      const find = { target: target.name, input, problem };
      finds.push(find);
      onFind?.(find);
    }
    return finds;
  } finally {
    for (const target of chosen) await target.close?.();
  }
}

/** What is wrong with how a target reads an input; null when nothing is. */
export async function judge(
  target: Target,
  input: string,
  { maxMs = mostMs }: { maxMs?: number } = {},
): Promise<string | null> {
  const started = process.cpuUsage();
  try {
    const read = target.read(input);
    if (read instanceof Promise) await read;
  } catch (error) {
    if (!isClassified(error)) {
      return `It threw ${error instanceof Error ? error.stack?.split("\n").slice(0, 4).join(" ") : String(error)}`;
    }
  }
  // Time of the processor, so that a busy machine finds nothing that is not there.
  const { user, system } = process.cpuUsage(started);
  const ms = Math.round((user + system) / 1000);
  return ms > maxMs ? `It took ${ms} ms.` : null;
}

/** `internal` says that something of ours is broken, so it is no answer to any input. */
function isClassified(error: unknown): boolean {
  return error instanceof Error && "code" in error && isErrorCode(error.code) && error.code !== "internal";
}
