import type { AttackCase, Expectation } from "../../../core/kit/attack/attack-case.ts";

const unresponsive: Expectation = { kind: "killed", codes: ["unresponsive"] };
const idle: Expectation = { kind: "error", codes: ["idle_timeout"] };
const interrupted: Expectation = { kind: "error", codes: ["interrupted"] };

/** For an attack that also takes memory outside the heap: the wall that it hits first. */
const unresponsiveOrOutOfMemory: Expectation = {
  kind: "any",
  of: [{ kind: "killed", codes: ["unresponsive", "out_of_memory", "crash"] }, { kind: "error", codes: ["fatal"] }],
};

const builtinNeverPolls =
  "The engine looks for a termination in loops of scripts, not in this builtin: no thread running " +
  "it can be ended, and the host could not even exit.";
const takesTheProcess =
  "A string this long is outside a thread's heap limit or ends the whole process when it fills it.";
const stuckOnDeno = {
  runtime: "deno" as const,
  reason: "Deno reports a thread in an endless loop as terminated while it keeps its core busy.",
};

/** Corpus group A: code that never comes back. */
export const hangCases: readonly AttackCase[] = [
  {
    id: "A1",
    name: "load-loop",
    attack: "An endless loop at the top of the module.",
    top: "for (;;);",
    expected: { kind: "refused", codes: ["load_failed"] },
    notInThread: stuckOnDeno,
    withinMs: 15_000,
  },
  {
    id: "A1",
    name: "constructor-loop",
    attack: "An endless loop in the adapter's constructor.",
    files: {
      "mod.js": `import { AgentAdapter } from "bulkhead/plugin-sdk";
export default class extends AgentAdapter { constructor() { super(); for (;;); } }`,
    },
    expected: { kind: "refused", codes: ["load_failed"] },
    notInThread: stuckOnDeno,
    withinMs: 15_000,
  },
  {
    id: "A1",
    name: "load-microtask-loop",
    attack: "A loop of microtasks that begins at the top of the module.",
    top: "(function again() { Promise.resolve().then(again); })();",
    body: "await ctx.sleep(60_000);",
    // The module itself is evaluated; what it left behind never lets the session begin.
    expected: {
      kind: "any",
      of: [{ kind: "refused", codes: ["load_failed"] }, { kind: "killed", codes: ["unresponsive"] }],
    },
    withinMs: 15_000,
  },
  {
    id: "A2",
    name: "session-loop",
    attack: "An endless loop in the session.",
    body: "for (;;);",
    expected: unresponsive,
    withinMs: 15_000,
  },
  {
    id: "A2",
    name: "initialize-loop",
    attack: "An endless loop in initialize().",
    members: "initialize() { for (;;); },",
    expected: unresponsive,
    withinMs: 15_000,
  },
  {
    id: "A2",
    name: "timer-loop",
    attack: "An endless loop in a timer's callback.",
    body: "setTimeout(() => { for (;;); }, 5); await new Promise(() => {});",
    expected: unresponsive,
    withinMs: 15_000,
  },
  {
    id: "A3",
    name: "microtask-loop",
    attack: "A loop of microtasks, so that no other task ever has its turn.",
    body: "(function again() { Promise.resolve().then(again); })(); await new Promise(() => {});",
    expected: unresponsive,
    withinMs: 15_000,
  },
  {
    id: "A3",
    name: "await-loop",
    attack: "An endless loop that awaits nothing.",
    body: "for (;;) await null;",
    expected: unresponsive,
    withinMs: 15_000,
  },
  {
    id: "A4",
    name: "zero-timers",
    attack: "A timer of no delay that starts itself again: heartbeats are still answered.",
    body: "(function again() { setTimeout(again, 0); })(); await new Promise(() => {});",
    // The clamp to a millisecond makes it cheap; the deadline of silence then ends it.
    expected: idle,
    withinMs: 15_000,
  },
  {
    id: "A4",
    name: "busy-timers",
    attack: "A timer that works for 40 ms and starts itself again, while the session says it is alive.",
    body: `(function again() { const end = Date.now() + 40; while (Date.now() < end); setTimeout(again, 0); })();
    for (;;) { yield { type: "progress", message: "busy" }; await ctx.sleep(100); }`,
    limits: { cpu_burst_ms: 1500, timeout_ms: 10_000 },
    // On a machine that has no core to spare it never keeps one busy, and then the total deadline ends it.
    expected: { kind: "any", of: [{ kind: "killed", codes: ["crash"] }, { kind: "error", codes: ["timeout"] }] },
    notInThread: "How busy a thread is cannot be told from what else the host does; the total deadline alone ends it.",
    withinMs: 20_000,
  },
  {
    id: "A5",
    name: "regular-expression",
    attack: "A regular expression that backtracks without end.",
    body: `/^(a+)+$/.test("a".repeat(64) + "!");`,
    expected: unresponsive,
    withinMs: 15_000,
  },
  {
    id: "A6",
    name: "looping-getter",
    attack: "A yielded event with a getter that loops.",
    body: `yield { type: "progress", get message() { for (;;); } };`,
    expected: unresponsive,
    withinMs: 15_000,
  },
  {
    id: "A6",
    name: "looping-type",
    attack: "A yielded event whose type is a getter that loops the second time it is read.",
    body: `let reads = 0;
    yield { get type() { if (reads++) for (;;); return "permission_request"; }, request_id: "r", options: [] };`,
    expected: unresponsive,
    withinMs: 15_000,
  },
  {
    id: "A7",
    name: "looping-proxy",
    attack: "A yielded proxy whose traps loop.",
    body: "yield new Proxy({}, { ownKeys() { for (;;); } });",
    expected: unresponsive,
    withinMs: 15_000,
  },
  {
    id: "A7",
    name: "looping-array-length",
    attack: "A yielded proxy of an array, whose length loops when it is read.",
    body: "yield new Proxy([], { get() { for (;;); } });",
    expected: unresponsive,
    withinMs: 15_000,
  },
  {
    id: "A7",
    name: "throwing-proxy",
    attack: "A yielded proxy whose traps throw: the adapter gets the error where it yielded, and goes on.",
    body: `const trap = () => { throw new Error("trap"); };
    const hostile = new Proxy({}, { get: trap, ownKeys: trap, getOwnPropertyDescriptor: trap, getPrototypeOf: trap });
    try { yield hostile; } catch { /* The refusal, or the trap itself. */ }
    try { yield [hostile]; } catch { /* The same. */ }
    yield { type: "progress", message: "still here" };`,
    expected: { kind: "harmless" },
    check: ({ events }) =>
      events.some(({ event }) => event.type === "progress") ? null : "The session did not go on after the refusal.",
    withinMs: 15_000,
  },
  {
    id: "A8",
    name: "looping-to-json",
    attack: "A yielded event whose toJSON() loops.",
    body: "yield { toJSON() { for (;;); } };",
    expected: unresponsive,
    withinMs: 15_000,
  },
  {
    id: "A8",
    name: "looping-to-string",
    attack: "An argument of a call whose toString() loops.",
    body: "ctx.log.info({ toString() { for (;;); } });",
    expected: unresponsive,
    withinMs: 15_000,
  },
  {
    id: "A8",
    name: "looping-message",
    attack: "An error is thrown whose message is an object with a looping Symbol.toPrimitive.",
    body: `throw Object.defineProperty(new Error(), "message", { value: { [Symbol.toPrimitive]() { for (;;); } } });`,
    expected: unresponsive,
    withinMs: 15_000,
  },
  {
    id: "A8",
    name: "thrown-object",
    attack: "An object is thrown whose every conversion throws or loops: the host must not convert it.",
    body: "throw { toString() { for (;;); }, toJSON() { for (;;); }, [Symbol.toPrimitive]() { throw this; } };",
    expected: { kind: "error", codes: ["fatal"] },
    withinMs: 15_000,
  },
  {
    id: "A9",
    name: "looping-thenable",
    attack: "The session returns a thenable whose then() loops.",
    body: "return { then() { for (;;); } };",
    expected: unresponsive,
    withinMs: 15_000,
  },
  {
    id: "A9",
    name: "looping-step",
    attack: "The iterator of the session is one of the adapter's own, whose next() gives a thenable that loops.",
    files: {
      "mod.js": `import { defineAdapter } from "bulkhead/plugin-sdk";
export default defineAdapter({ id: "attack", name: "Attack", version: "1.0.0",
  runSession: () => ({ [Symbol.asyncIterator]: () => ({ next: () => ({ then() { for (;;); } }) }) }) });`,
    },
    expected: unresponsive,
    withinMs: 15_000,
  },
  {
    id: "A10",
    name: "late-proxy",
    attack: "A timer throws a proxy whose traps loop.",
    body: `const trap = () => { for (;;); };
    setTimeout(() => { throw new Proxy({}, { get: trap, has: trap, ownKeys: trap, getPrototypeOf: trap }); }, 5);
    await new Promise(() => {});`,
    expected: unresponsive,
    withinMs: 15_000,
  },
  {
    id: "A10",
    name: "late-rejection-of-a-proxy",
    attack: "A promise without a holder is rejected with a proxy whose traps loop.",
    body: `const trap = () => { for (;;); };
    void Promise.reject(new Proxy({}, { get: trap, has: trap, ownKeys: trap, getPrototypeOf: trap }));
    await new Promise(() => {});`,
    expected: unresponsive,
    withinMs: 15_000,
  },
  {
    id: "A10",
    name: "late-getter",
    attack: "A timer throws an error whose message loops when it is read.",
    body: `setTimeout(() => {
      throw Object.defineProperty(new Error(), "message", { get() { for (;;); } });
    }, 5);
    await new Promise(() => {});`,
    expected: unresponsive,
    withinMs: 15_000,
  },
  ...(["indexOf", "lastIndexOf", "reverse", "join"] as const).map((method): AttackCase => ({
    id: "A11",
    name: `builtin-${method.toLowerCase()}`,
    attack: `Array.prototype.${method} on an object that says it has 2^53 - 1 elements.`,
    body: `Array.prototype.${method}.call({ length: 2 ** 53 - 1 }, 1);`,
    expected: method === "join" ? unresponsiveOrOutOfMemory : unresponsive,
    notInThread: builtinNeverPolls,
    withinMs: 15_000,
  })),
  {
    id: "A11",
    name: "builtin-sort",
    attack: "A sparse array of 2^32 - 2 elements is sorted.",
    body: "const sparse = new Array(2 ** 32 - 2); sparse[5] = 1; sparse.sort();",
    expected: unresponsive,
    notInThread: builtinNeverPolls,
    withinMs: 15_000,
  },
  {
    id: "A12",
    name: "giant-number",
    attack: "A BigInt of millions of digits is multiplied and written out.",
    body: "let n = 3n ** (1n << 22n); for (;;) n = (n * n).toString().length > 0 ? n : 1n;",
    expected: unresponsiveOrOutOfMemory,
    withinMs: 15_000,
  },
  {
    id: "A13",
    name: "fill-loop",
    attack: "A byte array of a gigabyte is filled forever.",
    body: "const bytes = new Uint8Array(2 ** 30); for (;;) bytes.fill(1);",
    expected: unresponsiveOrOutOfMemory,
    notInThread: "Bytes outside the heap are not counted against a thread.",
    withinMs: 15_000,
  },
  ...([
    ["normalize", `const text = "\\u1E9B\\u0323".repeat(2 ** 26); for (;;) text.normalize("NFKD");`],
    ["split", `for (;;) "a".repeat(2 ** 28).split("");`],
    ["replace-all", `for (;;) "a".repeat(2 ** 28).replaceAll("a", "b");`],
    ["index-of", `const text = "a".repeat(2 ** 28); for (;;) text.indexOf("a".repeat(2 ** 20) + "b");`],
  ] as const).map(([name, body]): AttackCase => ({
    id: "A14",
    name: `giant-string-${name}`,
    attack: `A string of 2^27 characters or more is given to ${name}, again and again.`,
    body,
    expected: unresponsiveOrOutOfMemory,
    notInThread: takesTheProcess,
    withinMs: 15_000,
  })),
  {
    id: "A15",
    name: "endless-events",
    attack: "The session yields forever.",
    body: `for (;;) yield { type: "progress", message: "more" };`,
    limits: { events: 20_000 },
    expected: { kind: "error", codes: ["limit_exceeded"] },
    withinMs: 20_000,
  },
  {
    id: "A15",
    name: "endless-events-after-the-end",
    attack: "The session yields forever when it is told to end.",
    body: `try { yield { type: "progress", message: "one" }; await new Promise(() => {}); }
    finally { for (;;) yield { type: "progress", message: "more" }; }`,
    interruptAfterMs: 800,
    expected: interrupted,
    withinMs: 15_000,
  },
  {
    id: "A15",
    name: "no-event",
    attack: "The session never yields anything.",
    body: "for (;;) await new Promise((resolve) => setTimeout(resolve, 50));",
    expected: idle,
    withinMs: 15_000,
  },
  {
    id: "A16",
    name: "never-settles",
    attack: "The session awaits a promise that never settles.",
    body: "await new Promise(() => {});",
    expected: idle,
    withinMs: 15_000,
  },
  {
    id: "A16",
    name: "initialize-never-settles",
    attack: "initialize() gives a promise that never settles.",
    members: "initialize() { return new Promise(() => {}); },",
    expected: idle,
    withinMs: 15_000,
  },
  {
    id: "A17",
    name: "ignores-the-signal",
    attack: "The session ignores its interruption.",
    body:
      `for (;;) { yield { type: "progress", message: "on" }; await new Promise((resolve) => setTimeout(resolve, 20)); }`,
    interruptAfterMs: 800,
    expected: interrupted,
    withinMs: 15_000,
  },
  {
    id: "A17",
    name: "swallows-the-signal",
    attack: "The session catches the interruption in a loop, which then never waits again.",
    body: "for (;;) await ctx.sleep(20).catch(() => {});",
    interruptAfterMs: 800,
    expected: { kind: "any", of: [interrupted, { kind: "killed", codes: ["interrupted"] }] },
    withinMs: 15_000,
  },
  {
    id: "A17",
    name: "interrupt-loops",
    attack: "An endless loop in interrupt().",
    members: "interrupt() { for (;;); },",
    body: "await new Promise(() => {});",
    interruptAfterMs: 800,
    expected: { kind: "any", of: [interrupted, { kind: "killed", codes: ["interrupted"] }] },
    withinMs: 15_000,
  },
  {
    id: "A18",
    name: "drip",
    attack: "One event just before each deadline of silence.",
    body: `for (;;) { yield { type: "progress", message: "." }; await ctx.sleep(400); }`,
    limits: { idle_timeout_ms: 2000, timeout_ms: 4000 },
    expected: { kind: "error", codes: ["timeout"] },
    withinMs: 15_000,
  },
  {
    id: "A19",
    name: "shared-memory",
    attack: "The thread is put to sleep on shared memory.",
    body: `const found = [globalThis.SharedArrayBuffer, globalThis.Atomics].filter(Boolean);
    if (found.length > 0) yield { type: "output", stream: "stdout", data: "BREACH: shared memory is there" };
    try { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); } catch { /* Not there. */ }`,
    expected: { kind: "harmless" },
    withinMs: 15_000,
  },
  {
    id: "A20",
    name: "webassembly",
    attack: "An endless loop in WebAssembly, which no engine can interrupt as well as a script.",
    // (module (func (export "f") (loop br 0)))
    body: `if (typeof WebAssembly !== "undefined") {
      yield { type: "output", stream: "stdout", data: "BREACH: WebAssembly is there" };
    }
    const bytes = [0,97,115,109,1,0,0,0,1,4,1,96,0,0,3,2,1,0,7,5,1,1,102,0,0,10,9,1,7,0,3,64,12,0,11,11];
    try { new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(bytes))).exports.f(); } catch { /* Not there. */ }`,
    expected: { kind: "harmless" },
    withinMs: 15_000,
  },
  {
    id: "A21",
    name: "debugger",
    attack: "The thread asks a debugger to stop it.",
    body: "debugger;",
    expected: { kind: "harmless" },
    withinMs: 15_000,
  },
  {
    id: "A22",
    name: "waits-for-itself",
    attack: "The session waits for the answer to a question it has not asked yet.",
    body: `await ctx.answer("q");
    yield { type: "question", request_id: "q", question: "Are you there?" };`,
    // A question that was never asked has no answer: the error comes at once.
    expected: { kind: "harmless" },
    withinMs: 15_000,
  },
  {
    id: "A22",
    name: "crossed-questions",
    attack: "The session asks two questions and waits for both without an answer.",
    body: `yield { type: "question", request_id: "a", question: "First?" };
    yield { type: "question", request_id: "b", question: "Second?" };
    await Promise.all([ctx.answer("a"), ctx.answer("b")]);`,
    expected: { kind: "error", codes: ["unanswered"] },
    withinMs: 15_000,
  },
  {
    id: "A23",
    name: "shutdown-never-settles",
    attack: "shutdown() gives a promise that never settles.",
    members: "shutdown() { return new Promise(() => {}); },",
    expected: { kind: "harmless" },
    withinMs: 15_000,
  },
  {
    id: "A23",
    name: "shutdown-loops",
    attack: "An endless loop in shutdown().",
    members: "shutdown() { for (;;); },",
    expected: unresponsive,
    withinMs: 15_000,
  },
  {
    id: "A23",
    name: "finally-never-settles",
    attack: "An interrupted session awaits forever in its finally.",
    body: "try { await ctx.sleep(60_000); } finally { await new Promise(() => {}); }",
    interruptAfterMs: 800,
    expected: interrupted,
    withinMs: 15_000,
  },
  {
    id: "A24",
    name: "promise-as-adapter",
    attack: "The module exports a promise that never settles instead of an adapter.",
    files: { "mod.js": "export default new Promise(() => {});" },
    expected: { kind: "refused", codes: ["adapter_incomplete"] },
    withinMs: 15_000,
  },
  {
    id: "A24",
    name: "top-level-await",
    attack: "The module awaits forever at its top.",
    top: "await new Promise(() => {});",
    expected: { kind: "refused", codes: ["bundle_failed"] },
    withinMs: 15_000,
  },
  {
    id: "A24",
    name: "thenable-as-adapter",
    attack: "The module exports a function with a then() that loops, and so does each adapter it makes.",
    files: {
      "mod.js": `import { defineAdapter } from "bulkhead/plugin-sdk";
const Adapter = defineAdapter({ id: "attack", name: "Attack", version: "1.0.0", async *runSession() {
  yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };
} });
Adapter.then = () => { for (;;); };
Adapter.prototype.then = () => { for (;;); };
export default Adapter;`,
    },
    // Neither is awaited.
    expected: { kind: "harmless" },
    withinMs: 15_000,
  },
  {
    id: "A25",
    name: "finalisation",
    attack: "A callback that the garbage collector would call when the session is long over.",
    body: `const found = [globalThis.FinalizationRegistry, globalThis.WeakRef].filter(Boolean);
    if (found.length > 0) yield { type: "output", stream: "stdout", data: "BREACH: finalisation is there" };`,
    expected: { kind: "harmless" },
    withinMs: 15_000,
  },
  {
    id: "A25",
    name: "loop-after-the-end",
    attack: "A timer is left behind that loops when the session is over.",
    body: "setTimeout(() => { for (;;); }, 300); setInterval(() => { for (;;); }, 300);",
    expected: { kind: "harmless" },
    withinMs: 15_000,
  },
];
