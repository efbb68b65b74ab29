import { setImmediate } from "node:timers";

/** Calls back once the events that are waiting now have been handled. */
export function onNextTurn(callback: () => void): void {
  setImmediate(callback);
}
