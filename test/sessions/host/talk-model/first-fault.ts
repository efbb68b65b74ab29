import { afterEach, beforeEach, vi } from "vitest";
import type { AgentKind } from "./model-agent.ts";
import { playTalk } from "./talk-world.ts";

/** Gives the tests of a file a clock of their own. */
export function useTestClock(): void {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
  afterEach(() => void vi.useRealTimers());
}

const clock = { advance: (ms: number) => void vi.advanceTimersByTime(ms), clear: () => void vi.clearAllTimers() };

/** Plays schedules until one has such a fault, every other one without crashes and kills; null where none has. */
export async function firstFault(
  kind: AgentKind,
  { from, most, like = /./ }: { from: number; most: number; like?: RegExp },
): Promise<{ fault: string | null; outcomes: Record<string, number> }> {
  const counts: Record<string, number> = {};
  for (let seed = from; seed < from + most; seed++) {
    const { faults, outcomes } = await playTalk({ seed, kind, calm: seed % 2 === 0, clock });
    for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
    if (faults.some((fault) => like.test(fault))) {
      return { fault: `seed ${seed}: ${faults.join("\n")}`, outcomes: counts };
    }
  }
  return { fault: null, outcomes: counts };
}
