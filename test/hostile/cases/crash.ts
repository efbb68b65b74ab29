import { readdir, readFile } from "../../../core/ground/platform/files/files.ts";
import { join } from "../../../core/ground/platform/files/paths.ts";
import type { AttackCase, AttackPlace, AttackStage, Expectation } from "../../../core/kit/attack/attack-case.ts";

const harmless: Expectation = { kind: "harmless" };
/** The host ends the worker, because it cannot tell whose session it was. */
const workerEnded: Expectation = { kind: "killed", codes: ["crash"] };
/** Only the session fails. */
const sessionFailed: Expectation = { kind: "error", codes: ["crash"] };
const fatal: Expectation = { kind: "error", codes: ["fatal"] };

const withinMs = 15_000;
const forEver = "await new Promise(() => {});";

const processReached: readonly AttackCase[] = [
  {
    id: "C1",
    name: "exit",
    attack: "Every known way to the process is tried, to end it.",
    body: `const ways = [
      () => process, () => globalThis.process, () => globalThis.require("process"), () => Function("return process")(),
      () => (0, eval)("process"), () => ({}).constructor.constructor("return process")(),
      () => ctx.log.info.constructor("return process")(), () => setTimeout.constructor("return process")(),
      () => Reflect.construct(Function, ["return process"])(), () => Deno, () => globalThis.Deno,
      () => new Function("return Deno")(),
    ];
    for (const way of ways) {
      let found;
      try { found = way(); } catch { continue; }
      if (found) yield { type: "output", stream: "stdout", data: "BREACH: " + way };
      for (const end of ["exit", "reallyExit", "abort"]) { try { found?.[end]?.(1); } catch { /* Refused. */ } }
    }`,
    expected: harmless,
    withinMs,
  },
  {
    id: "C2",
    name: "kill",
    attack: "Kills the host by its process id, after looking for the id in every likely place.",
    body: `const seen = JSON.stringify([ctx, request]) + Reflect.ownKeys(globalThis).map(String).join();
    if (/"p?pid"|\\bkill\\b/.test(seen)) yield { type: "output", stream: "stdout", data: "BREACH: " + seen.slice(0, 200) };
    try { process.kill(process.ppid, "SIGKILL"); } catch { /* Not there. */ }
    try { Deno.kill(Deno.ppid, "SIGKILL"); } catch { /* Not there. */ }
    try { await ctx.run("kill", ["-9", "1"]); } catch (error) { if (error.code !== "permission_denied") throw error; }`,
    expected: harmless,
    withinMs,
  },
  {
    id: "C3",
    name: "builtin-import",
    attack: "A module of the runtime that loads native code is imported.",
    top: `import { DatabaseSync } from "node:sqlite";\nimport process from "node:process";`,
    body: `process.dlopen({ exports: {} }, "/tmp/x.node"); new DatabaseSync(":memory:").loadExtension("/tmp/x.so");`,
    expected: { kind: "refused", codes: ["bundle_failed"] },
    withinMs,
  },
  {
    id: "C3",
    name: "native-addon",
    attack: "A native addon of the package's own is imported.",
    top: `import addon from "./addon.node";`,
    files: { "addon.node": "\u007fELF" },
    body: "addon.run();",
    expected: { kind: "refused", codes: ["bundle_failed"] },
    withinMs,
  },
  {
    id: "C3",
    name: "require-of-a-builtin",
    attack: "A module of the runtime is named in a call of require(), which a bundler resolves.",
    body: `require("node:fs").readFileSync("/etc/passwd");`,
    expected: { kind: "refused", codes: ["bundle_failed"] },
    withinMs,
  },
  {
    id: "C3",
    name: "require",
    attack: "A module of the runtime is asked of require() and its relatives.",
    body: `const ways = [
      () => module.require("node:fs"), () => globalThis.require("node:fs"), () => (0, eval)("require")("node:fs"),
      () => process.getBuiltinModule("fs"), () => process.binding("fs"), () => process.dlopen({}, "x"),
      () => Deno.dlopen("x", {}), () => new Function("return require")()("node:fs"),
    ];
    for (const way of ways) {
      try { if (way()) yield { type: "output", stream: "stdout", data: "BREACH: " + way }; } catch { /* Refused. */ }
    }`,
    expected: harmless,
    withinMs,
  },
];

const uncaught: readonly AttackCase[] = [
  {
    id: "C5",
    name: "throw-in-timer",
    attack: "A timer throws an error without a handler.",
    body: `setTimeout(() => { throw new Error("late"); }, 5); ${forEver}`,
    expected: sessionFailed,
    withinMs,
  },
  {
    id: "C5",
    name: "throw-in-microtask",
    attack: "A microtask throws an error without a handler.",
    body: `queueMicrotask(() => { throw new Error("late"); }); ${forEver}`,
    expected: sessionFailed,
    withinMs,
  },
  {
    id: "C5",
    name: "throw-in-listener",
    attack: "A listener for the abort of the session throws.",
    body: `ctx.signal.addEventListener("abort", () => { throw new Error("listener"); }); ${forEver}`,
    interruptAfterMs: 300,
    expected: { kind: "error", codes: ["interrupted", "crash"] },
    withinMs,
  },
  {
    id: "C5",
    name: "throw-in-interrupt",
    attack: "interrupt() throws.",
    members: `interrupt() { throw new Error("interrupt"); },`,
    body: forEver,
    interruptAfterMs: 300,
    expected: { kind: "error", codes: ["interrupted"] },
    withinMs,
  },
  {
    id: "C5",
    name: "throw-in-shutdown",
    attack: "shutdown() throws.",
    members: `shutdown() { throw new Error("shutdown"); },`,
    expected: harmless,
    withinMs,
  },
  {
    id: "C6",
    name: "rejected-async-function",
    attack: "An async function is called, not awaited, and rejects.",
    body: `(async () => { throw new Error("unheard"); })(); ${forEver}`,
    expected: workerEnded,
    withinMs,
  },
  {
    id: "C6",
    name: "rejected-generator",
    attack: "An async generator of the adapter's own rejects without being awaited.",
    body: `void (async function* () { throw new Error("unheard"); })().next(); ${forEver}`,
    expected: workerEnded,
    withinMs,
  },
  {
    id: "C6",
    name: "rejected-disposal",
    attack: "The disposal at the end of a block rejects without being awaited.",
    body: `const disposed = Symbol.asyncDispose ?? Symbol("disposal");
    void (async () => {
      try { await null; } finally { await { [disposed]: async () => { throw new Error("unheard"); } }[disposed](); }
    })();
    ${forEver}`,
    expected: workerEnded,
    withinMs,
  },
  {
    id: "C6",
    name: "rejected-after-the-end",
    attack: "A promise is rejected when the session is over.",
    body: 'const later = ctx.sleep(30); void (async () => { await later; })(); void ctx.kv.get("k");',
    expected: { kind: "any", of: [harmless, workerEnded] },
    withinMs,
  },
  ...([
    ["null", "null"],
    ["undefined", "undefined"],
    ["symbol", "Symbol()"],
    ["function", "() => 1"],
    ["number", "1n"],
    ["object-without-prototype", "Object.create(null)"],
    ["revoked-proxy", "(() => { const r = Proxy.revocable({}, {}); r.revoke(); return r.proxy; })()"],
  ] as const).flatMap(([name, value]): AttackCase[] => [
    {
      id: "C7",
      name: `throw-${name}`,
      attack: `A timer throws what is no error: ${value}.`,
      body: `setTimeout(() => { throw ${value}; }, 5); ${forEver}`,
      expected: sessionFailed,
      withinMs,
    },
    {
      id: "C7",
      name: `reject-${name}`,
      attack: `A promise without a holder is rejected with a value that is no error: ${value}.`,
      body: `void Promise.reject(${value}); ${forEver}`,
      expected: workerEnded,
      withinMs,
    },
  ]),
];

const strangeErrors: readonly AttackCase[] = [
  {
    id: "C8",
    name: "symbol-as-name",
    attack: "An error is thrown whose name is a symbol.",
    body: `throw Object.defineProperty(new Error("x"), "name", { value: Symbol("name") });`,
    expected: fatal,
    withinMs,
  },
  {
    id: "C8",
    name: "throwing-members",
    attack: "An error is thrown whose every member throws when it is read.",
    body: `const hostile = new Error("x");
    for (const key of ["name", "message", "stack", "cause", "code", "hint", "details"]) {
      Object.defineProperty(hostile, key, { get() { throw hostile; } });
    }
    throw hostile;`,
    expected: fatal,
    withinMs,
  },
  {
    id: "C8",
    name: "cause-cycle",
    attack: "An error is thrown that is its own cause, and that of its details.",
    body: `const hostile = new Error("x"); hostile.cause = hostile;
    hostile.code = "fatal"; hostile.hint = "h"; hostile.details = { hostile }; hostile.details.self = hostile.details;
    throw hostile;`,
    expected: fatal,
    withinMs,
  },
  {
    id: "C8",
    name: "million-errors",
    attack: "An AggregateError of a million errors is thrown.",
    body: `const one = new Error("one"); throw new AggregateError(Array.from({ length: 1e6 }, () => one), "many");`,
    expected: fatal,
    withinMs,
  },
  {
    id: "C8",
    name: "giant-message",
    attack: "An error is thrown with a message of sixteen million characters.",
    body: `throw new Error("x".repeat(2 ** 24));`,
    expected: fatal,
    check: ({ result }) =>
      (result?.error?.message.length ?? 0) <= 8192
        ? null
        : `The message has ${result?.error?.message.length} characters.`,
    withinMs,
  },
  ...([
    ["cycle", 'const x = { type: "unparsed" }; x.data = x; yield x;'],
    ["bigint", `yield { type: "unparsed", data: 1n };`],
    ["invalid-date", `yield { type: "unparsed", data: new Date(NaN) };`],
    [
      "hostile-key",
      `yield JSON.parse('{"type":"progress","message":"m","__proto__":{"x":1},"constructor":{"prototype":{}}}');`,
    ],
    [
      "strange-type",
      `for (const type of ["__proto__", "constructor", "toString", "", 1, null, {}, []]) yield { type, message: "m" };`,
    ],
    ["nothing", 'for (const value of [undefined, null, 0, "", [], [[]], Symbol.iterator, () => 1]) yield value;'],
    ["sparse-array", "const sparse = []; sparse[2 ** 32 - 2] = 1; yield sparse;"],
  ] as const).map(([name, body]): AttackCase => ({
    id: "C9",
    name: `yielded-${name}`,
    attack: `What is yielded is no event: ${name.replaceAll("-", " ")}.`,
    body,
    expected: { kind: "any", of: [harmless, { kind: "error", codes: ["invalid_request", "fatal", "limit_exceeded"] }] },
    withinMs,
  })),
  {
    id: "C9",
    name: "hostile-arguments",
    attack: "Every function of the context is called with what it does not expect.",
    body:
      `const strange = [undefined, null, NaN, -0, 1e999, 1n, "\\0", "\\ud800", "__proto__", {}, [], () => 1, new Date(NaN),
      Object.create(null), new Proxy({}, { get() { throw 1; } }), { toString() { throw null; } }];
    const reach = (at) => Object.entries(at).flatMap(([key, value]) =>
      typeof value === "function" ? [[key, value]] : value && typeof value === "object" ? reach(value) : []);
    const { signal, ...rest } = ctx;
    for (const [name, call] of reach(rest)) {
      if (["permission", "answer", "sleep"].includes(name)) continue;
      for (const value of strange) { try { await call(value, value, value); } catch { /* A typed error or a TypeError. */ } }
    }`,
    limits: { timeout_ms: 20_000, idle_timeout_ms: 20_000 },
    expected: harmless,
    withinMs: 30_000,
  },
];

const brokenPipes: readonly AttackCase[] = [
  {
    id: "C11",
    name: "write-to-dead-child",
    attack: "A program that is over is written to, again and again.",
    body: `const child = await ctx.run("true", [], { stdin: "open" });
    await child.exit;
    for (let i = 0; i < 50; i++) { try { await child.stdin.write("x".repeat(10_000)); } catch { /* Closed. */ } }
    await child.stdin.close().catch(() => {});`,
    permissions: { run: [{ binary: "true", args: [""] }] },
    expected: harmless,
    withinMs,
  },
  {
    id: "C11",
    name: "write-while-child-dies",
    attack: "A program is written to and killed at the same time.",
    body: `const child = await ctx.run("sleep", ["60"], { stdin: "open" });
    const writing = Array.from({ length: 20 }, () => child.stdin.write("x".repeat(100_000)).catch(() => {}));
    await child.kill();
    await Promise.all(writing);
    await child.exit;`,
    permissions: { run: [{ binary: "sleep", args: ["60"] }] },
    expected: harmless,
    withinMs,
  },
  {
    id: "C12",
    name: "death-while-writing",
    attack: "The worker dies while the host writes a file for it: the file must be whole or as it was.",
    body: `const path = ctx.workdir + "/kept.txt";
    await ctx.fs.writeText(path, "a".repeat(4e6));
    yield { type: "progress", message: "kept" };
    void ctx.fs.writeText(path, "b".repeat(4e6)).catch(() => {});
    await ctx.sleep(1);
    for (;;);`,
    permissions: { write: ["workdir"] },
    stage: watchKeptFile,
    expected: { kind: "killed", codes: ["unresponsive"] },
    withinMs,
  },
  {
    id: "C13",
    name: "dump-on-out-of-memory",
    attack: "The process runs out of memory, so that the engine might write reports, snapshots and core files.",
    body: "const all = []; for (let i = 0; ; i++) all.push(i);",
    limits: { heartbeat_timeout_ms: 6000, timeout_ms: 12_000, idle_timeout_ms: 12_000 },
    stage: watchForDumps,
    expected: { kind: "killed", codes: ["out_of_memory", "unresponsive"] },
    notInThread: "One array that doubles ends the whole process.",
    withinMs: 25_000,
  },
];

function watchKeptFile({ workdir }: AttackPlace): Promise<AttackStage> {
  const reached = async () => {
    const names = await readdir(workdir);
    const strange = names.filter((name) => name !== "kept.txt");
    if (strange.length > 0) return `Half a file was left behind: ${strange.join(", ")}.`;
    const text = names.length > 0 ? await readFile(join(workdir, "kept.txt"), "utf8") : "";
    return /^(a{4000000}|b{4000000})$/.test(text) ? null : `The file holds ${text.length} characters, of two writings.`;
  };
  return Promise.resolve({ reached });
}

function watchForDumps(place: AttackPlace): Promise<AttackStage> {
  const reached = async () => {
    for (const folder of Object.values(place)) {
      const dump = (await readdir(folder)).find((name) => /^core|\.heapsnapshot$|^report\..*\.json$/.test(name));
      if (dump !== undefined) return `A dump was written: ${dump}.`;
    }
    return null;
  };
  return Promise.resolve({ reached });
}

/** Corpus group C: code that crashes. */
export const crashCases: readonly AttackCase[] = [...processReached, ...uncaught, ...strangeErrors, ...brokenPipes];
