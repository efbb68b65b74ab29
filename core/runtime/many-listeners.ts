import { setMaxListeners } from "node:events";

/** Lets any number of listeners wait for a signal without a warning: as many as there are streams, say. */
export function manyListeners(signal: AbortSignal): AbortSignal {
  setMaxListeners(0, signal);
  return signal;
}
