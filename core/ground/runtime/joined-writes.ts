import type { Writable } from "node:stream";
import { onNextTurn } from "./next-turn.ts";

/**
 * Writes to a stream, all of one turn of the event loop at once: each write of its own would wake the reader, which then
 * takes the processor from the writer.
 */
export function joinedWrites(stream: Writable): (bytes: Uint8Array) => void {
  let isPlanned = false;
  return (bytes) => {
    if (stream.destroyed) return;
    if (!isPlanned) {
      isPlanned = true;
      stream.cork();
      onNextTurn(() => {
        isPlanned = false;
        stream.uncork();
      });
    }
    stream.write(bytes);
  };
}
