import { freezeClosures, harden } from "../lockdown.ts";
import type { Scope } from "../scope.ts";
import { abortEndowments } from "./abort.ts";
import { plainly, textEndowments } from "./text.ts";
import { urlEndowments } from "./url.ts";

/** The globals of a new compartment, beside the intrinsics. To add one: a function and a line below. */
export function endowments(scope: Scope): Record<string, unknown> {
  return {
    ...sharedEndowments(),
    ...freezeClosures({ ...timerEndowments(scope), ...consoleEndowment(scope) }),
  };
}

let shared: Record<string, unknown> | null = null;

function sharedEndowments(): Record<string, unknown> {
  return shared ??= harden({ ...plainEndowments(), ...textEndowments, ...urlEndowments, ...abortEndowments });
}

const hostCrypto = globalThis.crypto;
const hostClone = globalThis.structuredClone;
const started = performance.now();

/** Globals without authority that common libraries expect. */
function plainEndowments(): Record<string, unknown> {
  return {
    // The start compartment's own: the `Date` and `Math` of other compartments have no clock and no random numbers.
    Date,
    Math,
    Float32Array,
    Float64Array,
    structuredClone: (value: unknown) => plainly(() => hostClone(value)),
    crypto: {
      randomUUID: () => hostCrypto.randomUUID(),
      getRandomValues: (target: Uint8Array<ArrayBuffer>) => {
        const bytes = new Uint8Array(plainly(() => target.byteLength));
        plainly(() => hostCrypto.getRandomValues(bytes));
        new Uint8Array(target.buffer, target.byteOffset, target.byteLength).set(bytes);
        return target;
      },
    },
    // Whole milliseconds: a finer clock is a side channel.
    performance: { now: () => Math.floor(performance.now() - started), timeOrigin: 0 },
  };
}

/** `console` that writes to the session's log, and only text. */
function consoleEndowment(scope: Scope): Record<string, unknown> {
  const at = (level: "debug" | "info" | "warn" | "error") => (...args: unknown[]) => {
    scope.log(level, args.map(asText).join(" "));
  };
  return {
    console: {
      debug: at("debug"),
      log: at("info"),
      info: at("info"),
      warn: at("warn"),
      error: at("error"),
      trace: at("debug"),
    },
  };
}

function asText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  try {
    return JSON.stringify(value) ?? typeof value;
  } catch {
    return typeof value;
  }
}

/** Timers that belong to one session: capped, and gone with it. Ids are numbers, so nothing of the host leaks. */
function timerEndowments(scope: Scope): Record<string, unknown> {
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
