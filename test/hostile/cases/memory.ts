import type { AttackCase, Expectation } from "../../../core/kit/attack/attack-case.ts";

/** The heartbeat is patient here, so that it is the memory that ends it wherever the engine gets that far. */
const patient = { heartbeat_timeout_ms: 6000, timeout_ms: 12_000, idle_timeout_ms: 12_000, cpu_burst_ms: 12_000 };

/** Full memory; the heartbeat ends an engine that collects garbage forever instead of failing. */
const outOfMemory: Expectation = { kind: "killed", codes: ["out_of_memory", "unresponsive"] };

/** For a size that an engine may also refuse itself, so that the adapter ends by its own error. */
const refusedOrOutOfMemory: Expectation = {
  kind: "any",
  of: [{ kind: "killed", codes: ["out_of_memory", "unresponsive", "crash"] }, { kind: "error", codes: ["fatal"] }],
};

/** A message over a limit: the worker that sends it is ended, unless its own size got the better of it before. */
const refusedOrProtocol: Extract<Expectation, { kind: "any" }> = {
  kind: "any",
  of: [
    { kind: "killed", codes: ["protocol_violation", "out_of_memory", "unresponsive", "crash"] },
    { kind: "error", codes: ["fatal", "invalid_request", "too_large", "limit_exceeded"] },
    { kind: "refused", codes: ["too_large"] },
  ],
};

const oneStep = "One step of the engine asks for more than is left: it ends the whole process, not the thread.";
const outsideTheHeap = "Bytes outside the heap are not counted against a thread.";

const withinMs = 25_000;

/** One expression or loop that takes memory until none is left. */
function hunger(
  row: string,
  { name, attack, body, expected = outOfMemory, notInThread = oneStep }: {
    name: string;
    attack: string;
    body: string;
    expected?: Expectation;
    notInThread?: string;
  },
): AttackCase {
  return { id: row, name, attack, body, expected, notInThread, limits: patient, withinMs };
}

const growing: readonly AttackCase[] = [
  {
    id: "B1",
    name: "small-objects",
    attack: "Small objects without end.",
    body: "const all = []; for (;;) all.push({ x: 1, y: [1, 2, 3] });",
    limits: patient,
    expected: outOfMemory,
    withinMs,
  },
  {
    id: "B1",
    name: "closures",
    attack: "Closures without end.",
    body: "let last = () => 0; for (;;) { const before = last; last = () => before; }",
    limits: patient,
    expected: outOfMemory,
    withinMs,
  },
  {
    id: "B1",
    name: "promises",
    attack: "Promises without end that never settle.",
    body: "const all = []; for (;;) all.push(new Promise(() => {}));",
    limits: patient,
    expected: outOfMemory,
    withinMs,
  },
  {
    id: "B1",
    name: "at-load",
    attack: "Small objects without end, at the top of the module.",
    top: "const all = []; for (;;) all.push({ x: 1, y: [1, 2, 3] });",
    limits: { ...patient, load_timeout_ms: 12_000 },
    expected: { kind: "refused", codes: ["out_of_memory", "load_failed", "crash"] },
    withinMs,
  },
  hunger("B2", {
    name: "one-array",
    attack: "One array grows forever; each step doubles it.",
    body: "const all = []; for (let i = 0; ; i++) all.push(i);",
  }),
  hunger("B3", {
    name: "map",
    attack: "One Map grows forever.",
    body: "const all = new Map(); for (let i = 0; ; i++) all.set(i, i);",
  }),
  hunger("B3", {
    name: "set",
    attack: "One Set grows forever.",
    body: `const all = new Set(); for (let i = 0; ; i++) all.add("k" + i);`,
  }),
  hunger("B3", {
    name: "object",
    attack: "One object gets new keys forever.",
    body: `const all = {}; for (let i = 0; ; i++) all["k" + i] = i;`,
  }),
  hunger("B4", {
    name: "spread",
    attack: "A long string is spread into an array.",
    body: `const all = [..."a".repeat(5e8)];`,
    expected: refusedOrOutOfMemory,
  }),
  hunger("B4", {
    name: "array-from",
    attack: "Array.from makes an array of a hundred million objects.",
    body: "const all = Array.from({ length: 1e8 }, () => ({}));",
  }),
  hunger("B4", {
    name: "fill-and-map",
    attack: "An array of thirty million elements is filled and mapped to objects.",
    body: "const all = new Array(3e7).fill(0).map(() => ({}));",
  }),
  hunger("B5", {
    name: "split",
    attack: "A string of 2^28 characters is split into its characters.",
    body: `const all = "a".repeat(2 ** 28).split("");`,
    expected: refusedOrOutOfMemory,
  }),
  hunger("B5", {
    name: "flatten",
    attack: "Long strings are built from pieces, made flat and kept.",
    body: `const all = [];
    for (let i = 0; ; i++) { const text = "x".repeat(2 ** 24) + i; text.charCodeAt(text.length >> 1); all.push(text); }`,
  }),
  hunger("B5", {
    name: "replace-all",
    attack: "Each character of a string of 2^28 is replaced by a thousand.",
    body: `"a".repeat(2 ** 28).replaceAll("a", "b".repeat(1000));`,
    expected: refusedOrOutOfMemory,
  }),
  hunger("B6", {
    name: "parse-long",
    attack: "JSON.parse of an array of 2^26 numbers.",
    body: `const all = JSON.parse("[" + "1,".repeat(2 ** 26) + "1]");`,
    expected: refusedOrOutOfMemory,
  }),
  hunger("B6", {
    name: "parse-deep",
    attack: "JSON.parse of an array nested 2^26 levels deep.",
    body: `JSON.parse("[".repeat(2 ** 26));`,
    expected: refusedOrOutOfMemory,
  }),
  hunger("B7", {
    name: "buffers",
    attack: "Buffers outside the heap, filled and kept.",
    body: "const all = []; for (;;) all.push(new Uint8Array(2 ** 24).fill(1));",
    expected: refusedOrOutOfMemory,
    notInThread: outsideTheHeap,
  }),
  hunger("B7", {
    name: "resizable-buffer",
    attack: "A buffer that is made larger again and again.",
    body: `const buffer = new ArrayBuffer(0, { maxByteLength: 2 ** 33 });
    for (let size = 2 ** 24; ; size += 2 ** 24) { buffer.resize(size); new Uint8Array(buffer).fill(1); }`,
    expected: refusedOrOutOfMemory,
    notInThread: outsideTheHeap,
  }),
];

const outsideTheHeapCases: readonly AttackCase[] = [
  {
    id: "B8",
    name: "webassembly-memory",
    attack: "Memory of WebAssembly, which no heap limit counts.",
    body: `if (typeof WebAssembly !== "undefined") {
      yield { type: "output", stream: "stdout", data: "BREACH: WebAssembly is there" };
    }
    try { new WebAssembly.Memory({ initial: 32_768 }); } catch { /* Not there. */ }`,
    expected: { kind: "harmless" },
    withinMs,
  },
  {
    id: "B9",
    name: "virtual-buffer",
    attack: "One buffer of 8 GiB, which takes addresses and no memory until it is written.",
    body: `let size = 0;
    try { size = new ArrayBuffer(8 * 2 ** 30).byteLength; } catch { /* Refused. */ }
    yield { type: "progress", message: String(size) };`,
    limits: patient,
    // Without a limit of the operating system it is given, and costs nothing: writing to it is B7.
    expected: { kind: "any", of: [{ kind: "harmless" }, { kind: "killed", codes: ["out_of_memory", "crash"] }] },
    notInThread: outsideTheHeap,
    withinMs,
  },
  {
    id: "B9",
    name: "written-buffer",
    attack: "One buffer of 8 GiB, of which each page is written.",
    body: `const bytes = new Uint8Array(8 * 2 ** 30);
    for (let at = 0; at < bytes.length; at += 4096) bytes[at] = 1;`,
    limits: patient,
    expected: refusedOrOutOfMemory,
    notInThread: outsideTheHeap,
    withinMs,
  },
];

const counted: readonly AttackCase[] = [
  {
    id: "B10",
    name: "rejections",
    attack: "A million promises are rejected without a holder.",
    body: "for (let i = 0; i < 1e6; i++) void Promise.reject(i); await new Promise(() => {});",
    limits: patient,
    expected: { kind: "killed", codes: ["crash", "out_of_memory", "unresponsive"] },
    withinMs,
  },
  {
    id: "B11",
    name: "timers",
    attack: "Three million timers.",
    body: "for (let i = 0; i < 3e6; i++) setTimeout(() => {}, 1e6);",
    expected: { kind: "error", codes: ["fatal"] },
    check: ({ result }) =>
      /timers/.test(result?.error?.message ?? "") ? null : "It was not the cap on timers that ended it.",
    withinMs,
  },
  {
    id: "B11",
    name: "sleeps",
    attack: "Three million sleeps, which are timers too.",
    body: "await Promise.all(Array.from({ length: 3e6 }, () => ctx.sleep(1e6)));",
    limits: patient,
    // Each beyond the cap is a rejection, and there may be no memory left to hold them until a listener comes.
    expected: {
      kind: "any",
      of: [{ kind: "error", codes: ["fatal"] }, { kind: "killed", codes: ["crash", "out_of_memory", "unresponsive"] }],
    },
    withinMs,
  },
  {
    id: "B11",
    name: "immediates",
    attack: "Each timer of no delay starts two more.",
    body: "(function fork() { setImmediate(fork); setImmediate(fork); })(); await new Promise(() => {});",
    expected: { kind: "error", codes: ["crash", "fatal"] },
    withinMs,
  },
  {
    id: "B12",
    name: "event-flood",
    attack: "Events of a kilobyte forever, as fast as it can.",
    body: `for (;;) yield { type: "output", stream: "stdout", data: "x".repeat(1000) };`,
    limits: { ...patient, event_bytes_total: 8 * 1024 * 1024 },
    expected: { kind: "error", codes: ["limit_exceeded"] },
    withinMs,
  },
  {
    id: "B12",
    name: "array-flood",
    attack: "Arrays of events forever, so that none waits for credit of its own.",
    body: `const many = Array.from({ length: 10_000 }, () => ({ type: "progress", message: "x".repeat(100) }));
    for (;;) yield many;`,
    limits: { ...patient, event_bytes_total: 8 * 1024 * 1024 },
    // An array is sent as a whole, so it may run over the rate as well, and that ends the worker.
    expected: {
      kind: "any",
      of: [{ kind: "error", codes: ["limit_exceeded"] }, {
        kind: "killed",
        codes: ["limit_exceeded", "protocol_violation"],
      }],
    },
    withinMs,
  },
  {
    id: "B12",
    name: "log-flood",
    attack: "Log records forever, and none of them waits.",
    body: `for (;;) { ctx.log.info("x".repeat(1000)); await null; }`,
    expected: { kind: "killed", codes: ["unresponsive", "out_of_memory", "protocol_violation"] },
    withinMs,
  },
  {
    id: "B12",
    name: "call-flood",
    attack: "Calls forever, and none of them waits.",
    body: `for (;;) { void ctx.kv.get("k").catch(() => {}); await null; }`,
    permissions: { kv: true },
    expected: { kind: "killed", codes: ["unresponsive", "out_of_memory", "protocol_violation"] },
    withinMs,
  },
  {
    id: "B13",
    name: "giant-event",
    attack: "One event of half a gigabyte.",
    body: `yield { type: "progress", message: "x".repeat(2 ** 29 - 1000) };`,
    limits: { ...patient, heap_mb: 2048, rss_mb: 4096 },
    expected: refusedOrProtocol,
    notInThread: oneStep,
    withinMs,
  },
  {
    id: "B13",
    name: "large-event",
    attack: "One event just over the limit of a message.",
    body: `yield { type: "progress", message: "x".repeat(17 * 1024 * 1024) };`,
    limits: { ...patient, heap_mb: 512, rss_mb: 1024 },
    expected: refusedOrProtocol,
    withinMs,
  },
  {
    id: "B13",
    name: "giant-argument",
    attack: "One log record of a hundred megabytes.",
    body: `ctx.log.info("x".repeat(1e8)); await ctx.sleep(500);`,
    limits: { ...patient, heap_mb: 1024, rss_mb: 2048 },
    expected: { kind: "any", of: [{ kind: "harmless" }, ...refusedOrProtocol.of] },
    notInThread: oneStep,
    withinMs,
  },
];

const nested: readonly AttackCase[] = [
  ...([1000, 10_000] as const).map((depth): AttackCase => ({
    id: "B14",
    name: `nesting-${depth}`,
    attack: `An event nested ${depth} levels deep: kept as unparsed or refused where it is yielded, never lost.`,
    body: `let deep = 1; for (let i = 0; i < ${depth}; i++) deep = [deep];
    try { yield { type: "unparsed", data: deep }; } catch { yield { type: "unparsed", data: "refused" }; }`,
    expected: { kind: "harmless" },
    check: ({ events }) =>
      events.some(({ event }) => event.type === "unparsed") ? null : "The event was lost without a word.",
    withinMs,
  })),
  {
    id: "B14",
    name: "nesting-million",
    attack: "An event nested a million levels deep.",
    body: 'let deep = 1; for (let i = 0; i < 1e6; i++) deep = [deep]; yield { type: "unparsed", data: deep };',
    limits: patient,
    expected: {
      kind: "any",
      of: [
        { kind: "error", codes: ["fatal", "invalid_request"] },
        // An engine with a deeper stack writes it out, and then it has too many values.
        { kind: "refused", codes: ["too_large"] },
        outOfMemory,
      ],
    },
    withinMs,
  },
  ...([
    ["recursion", "(function deeper() { deeper(); })();"],
    ["to-string", "const loop = { toString() { return `${loop}`; } }; String(loop);"],
    ["parser", `JSON.parse("[".repeat(1e6) + "]".repeat(1e6));`],
    ["expression-parser", `new RegExp("(".repeat(1e6) + ")".repeat(1e6));`],
    ["function-parser", `new Function("return " + "[".repeat(1e5) + "]".repeat(1e5));`],
  ] as const).map(([name, body]): AttackCase => ({
    id: "B15",
    name: `stack-${name}`,
    attack: `The stack overflows in a ${name.replaceAll("-", " ")}.`,
    body,
    limits: patient,
    // Engines differ in what they parse without the stack; it is then memory they take.
    expected: { kind: "any", of: [{ kind: "error", codes: ["fatal"] }, { kind: "harmless" }, outOfMemory] },
    withinMs,
  })),
  {
    id: "B17",
    name: "garbage",
    attack: "The heap is kept nearly full while garbage is made forever, so that the engine does nothing but collect.",
    body: `const kept = []; for (let i = 0; i < 40; i++) kept.push(Array.from({ length: 1e5 }, (_, n) => n + 0.5));
    for (;;) { for (let i = 0; i < 1e4; i++) kept[i % 40] = Array.from({ length: 1e5 }, (_, n) => n + 0.5); await ctx.sleep(1); }`,
    limits: { heartbeat_timeout_ms: 3000, timeout_ms: 8000, idle_timeout_ms: 8000 },
    expected: {
      kind: "any",
      of: [{ kind: "killed", codes: ["crash", "out_of_memory", "unresponsive"] }, {
        kind: "error",
        codes: ["timeout", "idle_timeout"],
      }],
    },
    withinMs,
  },
  {
    id: "B18",
    name: "printed-text",
    attack: "Text without end, which the result of the session would repeat.",
    body: `for (let i = 0; i < 200; i++) yield { type: "output", stream: "stdout", data: "x".repeat(100_000) };`,
    limits: patient,
    expected: { kind: "harmless" },
    check: ({ result }) =>
      (result?.output.length ?? 0) <= 2 * 1024 * 1024 ? null : `The result holds ${result?.output.length} characters.`,
    withinMs,
  },
  {
    id: "B18",
    name: "open-tool-calls",
    attack: "Tool calls without end that are never answered, each of which the host must remember and close.",
    body: `for (let i = 0; i < 30_000; i++) {
      yield { type: "tool_call", call_id: "c" + i + "x".repeat(100), tool: "t", kind: "other", input: null };
    }`,
    limits: patient,
    expected: { kind: "harmless" },
    check: ({ events }) => {
      const closed = events.filter(({ event }) => event.type === "tool_result").length;
      return closed <= 10_000 ? null : `The host remembered ${closed} open calls.`;
    },
    withinMs,
  },
  {
    id: "B18",
    name: "claimed-files",
    attack: "Names of changed files without end, which the result would list.",
    body:
      `for (let i = 0; i < 30_000; i++) yield { type: "file_change", path: "f" + i + "x".repeat(200), action: "create" };`,
    limits: patient,
    expected: { kind: "harmless" },
    check: ({ result }) =>
      (result?.claimed_only.length ?? 0) <= 10_000 ? null : `The result lists ${result?.claimed_only.length} names.`,
    withinMs,
  },
];

/** Corpus group B: code that takes all memory there is. */
export const memoryCases: readonly AttackCase[] = [...growing, ...outsideTheHeapCases, ...counted, ...nested];
