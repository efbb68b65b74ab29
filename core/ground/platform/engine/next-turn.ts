import { setImmediate } from "node:timers";

/** Resolves once the events that are waiting now have been handled. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Does something with each item of a list, which may be long: other work has its turn in between. */
export async function inTurns<T>(items: readonly T[], act: (item: T) => void): Promise<void> {
  for (let at = 0; at < items.length; at++) {
    act(items[at]!);
    if (at % itemsInATurn === itemsInATurn - 1) await nextTurn();
  }
}

const itemsInATurn = 5000;

/** Calls back once the events that are waiting now have been handled. */
export function onNextTurn(callback: () => void): void {
  setImmediate(callback);
}
