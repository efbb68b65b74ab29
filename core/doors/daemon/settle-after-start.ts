import { startBackgroundTimer } from "../../ground/platform/engine/background-timer.ts";
import { letEngineOptimize } from "../../ground/platform/engine/boot-flags.ts";
import { collectGarbageOnce } from "../../ground/platform/engine/collect-garbage.ts";

/** When what the start left is collected. The first requests should not wait for it. Milliseconds. */
const settleMs = 500;

/**
 * Gives back the memory that the start of a daemon needed: without work the engine collects nothing for hours. With
 * sessions, it collects by itself.
 * @returns cancels it
 */
export function settleAfterStart(isUnused: () => boolean): () => void {
  letEngineOptimize();
  return startBackgroundTimer(() => {
    if (isUnused()) collectGarbageOnce();
  }, settleMs);
}
