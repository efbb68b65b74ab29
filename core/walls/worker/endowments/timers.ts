import type { Scope } from "../scope.ts";

/** Timers that belong to one session: capped, and gone with it. Ids are numbers, so nothing of the host leaks. */
export function timerEndowments(scope: Scope): Record<string, unknown> {
  return {
    setTimeout: (run: unknown, ms?: unknown, ...args: unknown[]) => start(scope, { run, ms, args, repeat: false }),
    setInterval: (run: unknown, ms?: unknown, ...args: unknown[]) => start(scope, { run, ms, args, repeat: true }),
    clearTimeout: (id?: unknown) => scope.stopTimer(id),
    clearInterval: (id?: unknown) => scope.stopTimer(id),
    setImmediate: (run: unknown, ...args: unknown[]) => start(scope, { run, ms: 0, args, repeat: false }),
    clearImmediate: (id?: unknown) => scope.stopTimer(id),
    queueMicrotask: (run: unknown) => {
      const callback = callable(run);
      queueMicrotask(() => scope.guard(() => callback()));
    },
  };
}

function start(scope: Scope, timer: { run: unknown; ms: unknown; args: unknown[]; repeat: boolean }): number {
  const callback = callable(timer.run);
  return scope.startTimer(() => callback(...timer.args), { ms: Number(timer.ms ?? 0), repeat: timer.repeat });
}

function callable(run: unknown): (...args: unknown[]) => unknown {
  if (typeof run !== "function") throw new TypeError("A timer's callback must be a function.");
  return (...args) => Reflect.apply(run, undefined, args);
}
