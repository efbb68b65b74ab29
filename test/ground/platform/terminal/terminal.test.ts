import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { openTerminal } from "../../../../core/ground/platform/terminal/terminal.ts";

/** Takes hold of what a signal calls, without a signal to this process. */
function listenersAdded(add: () => () => void): { signal: () => void; stop: () => void } {
  const before = process.listeners("SIGINT");
  const stop = add();
  const added = process.listeners("SIGINT").filter((listener) => !before.includes(listener));
  return { signal: () => added.forEach((listener) => listener("SIGINT")), stop };
}

test("openTerminal takes a Ctrl-C that a runner sends on for one press, and a later one for the second", async () => {
  const terminal = openTerminal();
  const presses = { interrupt: 0, end: 0 };
  const both = [
    listenersAdded(() => terminal.onInterrupt(() => presses.interrupt++)),
    listenersAdded(() => terminal.onSignals({ end: () => presses.end++, hangUp: () => {}, reload: () => {} })),
  ];
  const press = () => both.forEach(({ signal }) => signal());
  try {
    press();
    press();
    expect(presses).toEqual({ interrupt: 1, end: 1 });
    await sleep(320);
    press();
    expect(presses).toEqual({ interrupt: 2, end: 2 });
  } finally {
    for (const { stop } of both) stop();
  }
});
