import type { Writable } from "node:stream";
import { onNextTurn } from "./next-turn.ts";

/**
 * Writes to a pipe at most twice in a turn of the event loop: what comes first at once, so that its reader can begin, and
 * all that comes later in the turn together. Each write is a call of the system, and on a busy machine the system runs
 * the reader before it returns.
 */
export function writeTogether(pipe: Writable): (bytes: Uint8Array) => void {
  let isGathering = false;
  return (bytes) => {
    if (pipe.destroyed) return;
    pipe.write(bytes);
    if (isGathering) return;
    isGathering = true;
    pipe.cork();
    onNextTurn(() => {
      isGathering = false;
      pipe.uncork();
    });
  };
}
