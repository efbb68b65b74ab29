import type { AttackCase } from "../../../core/kit/attack/attack-case.ts";

type Ending = Pick<AttackCase, "expected" | "withinMs">;

const harmless: Ending = { expected: { kind: "harmless" }, withinMs: 20_000 };
/** The bundler or the compartment may see it first; either way no session runs. */
const refused: Ending = { expected: { kind: "refused", codes: ["bundle_failed", "load_failed"] }, withinMs: 20_000 };

/** Functions for attacks that look for the way out. */
const tools = `
const powers = ["process", "Deno", "require", "module", "global", "Buffer", "fetch", "WebSocket", "Worker", "BroadcastChannel", "importScripts", "WebAssembly"];
const powerOf = (thing) => {
  if (thing === null || (typeof thing !== "object" && typeof thing !== "function")) return null;
  return ["env", "binding", "dlopen", "exit", "mainModule", "getBuiltinModule", "readFile", "postMessage"].find((name) => {
    try { return typeof thing[name] === "function" || (name === "env" && typeof thing[name] === "object" && thing[name] !== null); } catch { return false; }
  }) ?? null;
};
const attempt = (run) => { try { return run(); } catch (error) { return undefined; } };
`;

const breach = (what: string) => `yield { type: "progress", message: "BREACH: " + ${what} };`;

const mapComments = ["//# ", "//@ ", "/*# ", "/*@ "].flatMap((start) =>
  ["file:///etc/passwd", "/etc/passwd", "../../../../../../../../etc/passwd", "file://localhost/etc/passwd"].map((
    url,
  ) => `${start}sourceMappingURL=${url}${start.startsWith("/*") ? " */" : ""}\n`)
).join("");
const differential = `import { defineAdapter } from "bulkhead/plugin-sdk";
export default defineAdapter({
  id: "attack", name: "Attack", version: "1.0.0",
  async *runSession() {
    const marks = "\ufeff\u2028\u2029\u00a0\u200d";
    if (marks.length !== 5) yield { type: "progress", message: "BREACH: characters were lost." };
    /* \u2028 */ const hidden = 1; // \u200b
    yield { type: "completed", success: hidden === 1, files_changed: [], tokens_used: null, cost: null };
  },
});
`;

/** Corpus group F: ways out of the compartment. */
export const escapeCases: readonly AttackCase[] = [
  {
    id: "F1",
    name: "function-constructor",
    attack: "Reaches for Function through the constructor of anything, and asks it for the host.",
    top: tools,
    body: `
    const things = [{}, [], () => 1, "", 1, true, Symbol(), 1n, /x/, new Map(), Promise.resolve(), new Error(), new Date(), ctx, ctx.run, console.log,
      setTimeout, URL, new URL("http://a"), new TextEncoder(), new AbortController(), ctx.signal, request, structuredClone([]), crypto, defineAdapter];
    for (const thing of things) {
      for (const text of ["return process", "return Deno", "return this", "return globalThis", "return require"]) {
        const made = attempt(() => thing.constructor.constructor(text)());
        if (powerOf(made) || attempt(() => made.process ?? made.Deno)) ${breach("text")}
      }
    }`,
    ...harmless,
  },
  {
    id: "F2",
    name: "other-constructors",
    attack: "The constructors of async functions and generators.",
    top: tools,
    body: `
    for (const kind of [async () => {}, function* () {}, async function* () {}]) {
      const made = await attempt(() => kind.constructor("return process"))?.();
      const value = made?.next ? await made.next() : made;
      if (powerOf(value?.value ?? value)) ${breach("kind.constructor.name")}
    }`,
    ...harmless,
  },
  {
    id: "F3",
    name: "eval",
    attack: "Indirect eval and new Function: they may run, and find nothing.",
    top: tools,
    body: `
    for (const name of powers) {
      const types = [attempt(() => (0, eval)("typeof " + name)), attempt(() => new Function("return typeof " + name)())];
      if (types.some((type) => type !== undefined && type !== "undefined")) ${breach("name")}
    }`,
    ...harmless,
  },
  {
    id: "F3",
    name: "direct-eval",
    attack: "Direct eval in the module.",
    body: `eval("1");`,
    ...refused,
  },
  ...([
    ["import", `await import("node:fs");`],
    ["import-comment", `await import/**/("node:fs");`],
    ["import-line", `await import\n("node:fs");`],
    ["import-paragraph", `await import\u2028("node:fs");`],
    ["import-spread", `({ ...import("node:fs") });`],
    ["import-computed", `const name = ["node", "fs"].join(":"); await import(name);`],
    ["import-defer", `await import.defer("node:fs");`],
    ["import-source", `await import.source("node:fs");`],
    ["import-options", `await import("node:fs", { with: { type: "json" } });`],
    ["import-data", `await import("data:text/javascript,export default process");`],
    ["import-escaped", `await im\\u0070ort("node:fs");`],
  ] as const).map(([name, body]): AttackCase => ({
    id: "F4",
    name,
    attack: `Loads a module while it runs (${name.replaceAll("-", " ")}).`,
    body,
    ...refused,
  })),
  {
    id: "F4",
    name: "import-statement",
    attack: "Imports a module of the runtime at the top.",
    top: `import fs from "node:fs"; globalThis.fs = fs;`,
    body: breach(`"a module of the runtime"`),
    ...refused,
  },
  {
    id: "F4",
    name: "import-evaluated",
    attack: "Loads a module from text put together while it runs.",
    body: `
    const word = "imp" + "ort";
    for (const text of [word + "('node:fs')", word + "/**/('node:fs')", word + "\\n('node:fs')", word + "\\u2028('node:fs')",
      "({..." + word + "('node:fs')})", "(async () => await " + word + "('data:text/javascript,1'))()", "im\\\\u0070ort('node:fs')", word + ".meta", "<!-- " + word + "('node:fs')"]) {
      for (const evaluate of [(0, eval), (code) => new Function("return " + code)()]) {
        let found = null;
        try { found = await evaluate(text); } catch {}
        if (found !== null && found !== undefined && typeof found === "object" && Object.keys(found).length > 0) ${
      breach("text")
    }
      }
    }`,
    ...harmless,
  },
  {
    id: "F5",
    name: "import-meta",
    attack: "Asks where its module lies.",
    body: `yield { type: "progress", message: ["BRE", "ACH: "].join("") + import.meta.url };`,
    ...refused,
  },
  {
    id: "F6",
    name: "stack-traces",
    attack: "Takes hold of the engine's stack traces to see the functions below its own.",
    body: `
    let sites = null;
    try { Error.prepareStackTrace = (error, frames) => { sites = frames; return frames; }; } catch {}
    try { Object.defineProperty(Error, "prepareStackTrace", { value: (error, frames) => { sites = frames; return frames; } }); } catch {}
    try { Error.stackTraceLimit = 1000; } catch {}
    const holder = {};
    try { Error.captureStackTrace(holder); } catch {}
    const stacks = [new Error("x").stack, holder.stack, structuredClone(new Error("x")).stack];
    try { null.x; } catch (error) { stacks.push(error.stack); }
    try { structuredClone(() => 1); } catch (error) { stacks.push(error.stack); }
    if (sites !== null) ${breach(`"call sites"`)}
    for (const stack of stacks) {
      if (typeof stack === "object" && stack !== null) ${breach(`"an object as stack"`)}
      if (/file:|node:|guest|\\.js:\\d/.test(String(stack))) ${breach("stack")}
    }`,
    ...harmless,
  },
  {
    id: "F7",
    name: "stack-overflow",
    attack: "Overflows the stack inside the host's functions and reaches for the error's constructor.",
    top: tools,
    body: `
    const calls = [() => structuredClone({}), () => new URL("http://a"), () => ctx.sleep(1).catch(() => {}), () => console.log("x"), () => new TextEncoder().encode("x"),
      () => atob(""), () => crypto.randomUUID(), () => eval?.("1")];
    for (const call of calls) {
      let caught = null;
      const dive = () => { try { call(); } catch (error) { caught ??= error; } dive(); };
      try { dive(); } catch (error) { caught ??= error; }
      const made = attempt(() => caught.constructor.constructor("return typeof process + typeof Deno")());
      if (made !== undefined && made !== "undefinedundefined") ${breach("made")}
    }`,
    notInThread:
      "The engine prints its own complaints of a full stack on its process's standard error: in a thread, the host's.",
    expected: {
      kind: "any",
      of: [{ kind: "harmless" }, { kind: "error", codes: ["limit_exceeded", "fatal"] }, {
        kind: "killed",
        codes: ["out_of_memory", "unresponsive", "crash"],
      }],
    },
    withinMs: 25_000,
  },
  {
    id: "F8",
    name: "reflect-and-species",
    attack: "Makes functions through Reflect, species, hasInstance, unscopables and thenables.",
    top: tools,
    body: `
    const found = [
      attempt(() => Reflect.construct(Function, ["return process"])()),
      attempt(() => Reflect.construct(Function, ["return this"], Array)()),
      attempt(() => { class Spy extends Array { static get [Symbol.species]() { return Function; } } return new Spy("return process").map((x) => x); }),
      attempt(() => (function () { return this; })()),
      attempt(() => (function () { return this; }).call(null)),
      attempt(() => [].concat.constructor("return process")()),
      attempt(() => Object.getOwnPropertyDescriptor(Function.prototype, "arguments")?.get?.call(ctx.run)),
      attempt(() => Object.getOwnPropertyDescriptor(Function.prototype, "caller")?.get?.call(ctx.run)),
    ];
    for (const [index, thing] of found.entries()) if (powerOf(thing)) ${breach("index")}
    const given = [];
    await { then(resolve) { given.push(this, resolve, attempt(() => resolve.constructor("return this")())); resolve(); } };
    for (const thing of given) if (powerOf(thing)) ${breach(`"a thenable"`)}
    await { get then() { return undefined; } };`,
    ...harmless,
  },
  {
    id: "F8",
    name: "sloppy-mode",
    attack: "Finds a mode in which functions know their callers and an object can be a scope.",
    body: `
    const texts = ["with ({ process: 1 }) { process }", "arguments.callee", "(function f() { return f.caller; })()", "(function f() { return f.arguments; })()", "010", "delete Object.prototype"];
    for (const text of texts) {
      let value;
      try { value = (0, eval)("(function () { return " + text + " })()"); } catch {}
      if (typeof value === "function" || (typeof value === "object" && value !== null)) ${breach("text")}
    }`,
    ...harmless,
  },
  {
    id: "F8",
    name: "html-comment",
    attack: "A comment of HTML in evaluated text, which hides what follows from a scanner.",
    body: `
    for (const text of ["<!-- x\\n1", "1\\n--> x", "#!x\\n1"]) { try { (0, eval)(text); } catch {} }
    const kept = "<!-- a string is left alone -->";
    if (kept.length !== 31) ${breach("kept.length")}`,
    ...harmless,
  },
  {
    id: "F9",
    name: "prototype-pollution",
    attack: "Pollutes the prototypes that the guest's own code stands on, while it waits for answers.",
    permissions: { kv: true },
    body: `
    const targets = [Object.prototype, Array.prototype, Promise.prototype, Function.prototype, Map.prototype, Error.prototype, String.prototype, Symbol.prototype];
    for (const target of targets) {
      for (const key of ["then", "toJSON", "get", "constructor", "value", "type", "sid", "done", "polluted"]) {
        try { target[key] = () => "BREACH: polluted"; } catch {}
        try { Object.defineProperty(target, key, { value: () => "BREACH: polluted", configurable: true }); } catch {}
      }
    }
    await ctx.kv.set("k", { a: 1 });
    yield { type: "progress", message: JSON.stringify(await ctx.kv.get("k")) + typeof ({}).polluted };
    if (({}).polluted || [].toJSON) ${breach(`"polluted"`)}`,
    check: () => Reflect.get({}, "polluted") === undefined ? null : "The host's prototypes were polluted.",
    ...harmless,
  },
  {
    id: "F10",
    name: "web-assembly",
    attack: "Looks for WebAssembly, whose tags catch the host's exceptions.",
    top: tools,
    body: `
    for (const text of ["WebAssembly", "WebAssembly.JSTag", "globalThis.WebAssembly"]) {
      if (attempt(() => (0, eval)(text)) !== undefined) ${breach("text")}
    }`,
    ...harmless,
  },
  {
    id: "F11",
    name: "inspect-hook",
    attack: "An object whose inspection by the host would run its code with the host's own functions.",
    body: `
    let given = null;
    const trap = { message: "x", toJSON() { return "plain"; } };
    for (const name of ["nodejs.util.inspect.custom", "Deno.customInspect", "nodejs.util.promisify.custom", "Deno.privateCustomInspect"]) {
      trap[Symbol.for(name)] = (...args) => { given = args; return "BREACH: inspected"; };
    }
    console.log(trap, [trap], new Map([[trap, trap]]));
    ctx.log.error("x", trap);
    yield { type: "unparsed", data: trap };
    const error = Object.assign(new Error("x"), trap);
    await ctx.kv.get(error).catch(() => {});
    queueMicrotask(() => {});
    await ctx.sleep(50);
    if (given !== null) ${breach(`"its hook was called"`)}`,
    ...harmless,
  },
  {
    id: "F12",
    name: "unbound-this",
    attack: "Exports functions that look at what they are called on.",
    top: `${tools} const seen = [];`,
    members: `
  initialize: function () { seen.push(this); },
  shutdown: function () { seen.push(this); },
  interrupt: function () { seen.push(this); },`,
    body: `
    seen.push(this, (function () { return this; })());
    await new Promise((done) => setTimeout(function () { seen.push(this); done(); }, 1));
    await new Promise((done) => queueMicrotask(function () { seen.push(this); done(); }));
    await { then(resolve) { seen.push(this); resolve(); } };
    for (const thing of seen) {
      if (powerOf(thing)) ${breach("powerOf(thing)")}
      for (const key of attempt(() => Reflect.ownKeys(thing ?? {})) ?? []) if (powerOf(attempt(() => thing[key]))) ${
      breach("String(key)")
    }
    }`,
    ...harmless,
  },
  {
    id: "F13",
    name: "timer-this",
    attack: "Looks at what a timer's callback is called on, and at what a timer is.",
    body: `
    for (const start of [setTimeout, setInterval, setImmediate]) {
      const [self, id] = await new Promise((done) => { const id = start(function () { done([this, id]); clearInterval(id); }, 1); });
      if (self !== undefined) ${breach(`"a timer called it on something"`)}
      if (typeof id !== "number") ${breach(`"a timer is an object"`)}
    }
    try { setTimeout("globalThis.x = 1", 0); ${breach(`"text as a callback"`)} } catch {}
    for (const id of [0, 1, 2, 3, 4, 5, {}, "1", NaN]) clearTimeout(id);`,
    ...harmless,
  },
  {
    id: "F14",
    name: "console",
    attack: "Looks for a stream behind the console.",
    body: `
    const keys = [...Reflect.ownKeys(console), ...Reflect.ownKeys(Object.getPrototypeOf(console))].map(String);
    for (const key of keys) if (/_std|stream|Console|ignoreErrors/.test(key)) ${breach("key")}
    for (const name of ["_stdout", "_stderr", "Console", "_stdoutErrorHandler"]) if (console[name]) ${breach("name")}
    console.log.call({ write() {} }, "%o", { toString() { return "x"; } });`,
    ...harmless,
  },
  {
    id: "F15",
    name: "listener-this",
    attack: "Looks at what listeners are called on and at the event they get.",
    top: tools,
    interruptAfterMs: 1500,
    body: `
    const seen = [];
    ctx.signal.addEventListener("abort", function (event) { seen.push(this, event, event.target, event.currentTarget, event.srcElement, event.composedPath?.()); });
    ctx.signal.onabort = function (event) { seen.push(this, event); };
    const target = new EventTarget();
    target.addEventListener("x", { handleEvent(event) { seen.push(event); } });
    target.dispatchEvent(new Event("x"));
    const controller = new AbortController();
    controller.signal.addEventListener("abort", function (event) { seen.push(this, event); });
    controller.abort();
    await ctx.sleep(10_000).catch((reason) => seen.push(reason));
    for (const thing of seen) if (powerOf(thing) || powerOf(attempt(() => thing.constructor.constructor("return this")()))) ${
      breach("thing")
    }
    if (seen.length < 6) ${breach(`"the listeners were not called: " + seen.length`)}`,
    expected: { kind: "error", codes: ["interrupted"] },
    withinMs: 20_000,
  },
  {
    id: "F16",
    name: "rebound-methods",
    attack: "Calls the host's functions on objects of its own, and on each other's.",
    permissions: { kv: true },
    top: tools,
    body: `
    const mine = new Proxy({}, { get(target, key) { if (!["then", "constructor"].includes(String(key)) && typeof key === "string") touched.push(key); return undefined; } });
    const touched = [];
    for (const group of [ctx, ctx.fs, ctx.kv, ctx.env, ctx.log, ctx.temp, console]) {
      for (const key of Object.keys(group)) {
        if (typeof group[key] === "function") await attempt(() => group[key].call(mine, "x", "y"))?.catch?.(() => {});
      }
    }
    if (touched.length > 0) ${breach("touched")}
    for (const [thing, getter] of [[URL, "href"], [AbortSignal, "aborted"], [TextDecoder, "encoding"], [URLSearchParams, "size"]]) {
      const read = Object.getOwnPropertyDescriptor(thing.prototype, getter).get;
      if (attempt(() => read.call(mine)) !== undefined) ${breach("getter")}
    }`,
    ...harmless,
  },
  {
    id: "F17",
    name: "host-errors",
    attack: "Makes the host fail and searches the errors for what belongs to the host.",
    permissions: {
      read: ["workdir"],
      write: ["workdir"],
      net: ["127.0.0.1:1"],
      run: [{ binary: "no-such-program-anywhere", args: [""] }],
    },
    top: tools,
    body: `
    const acts = [() => ctx.fs.readText("none"), () => ctx.fs.readText("."), () => ctx.fs.list("none"), () => ctx.fs.writeText("none/none", "x"),
      () => ctx.fetch("http://127.0.0.1:1/"), () => ctx.run("no-such-program-anywhere", []), () => ctx.fs.readText("\\u0000"), () => ctx.fetch("x:y")];
    const errors = await Promise.all(acts.map((act) => act().then(() => null, (error) => error)));
    for (const error of errors) {
      if (error === null) continue;
      const keys = Reflect.ownKeys(error).map(String).filter((key) => !["stack", "message", "name", "code", "hint", "details", "cause"].includes(key));
      if (keys.length > 0) ${breach("keys")}
      if (error.cause !== undefined) ${breach(`"a cause"`)}
      if (!(error instanceof Error) || Object.getPrototypeOf(Object.getPrototypeOf(error)) !== Error.prototype) ${
      breach(`"a foreign error"`)
    }
      if (powerOf(attempt(() => error.constructor.constructor("return this")()))) ${breach(`"its constructor"`)}
    }`,
    ...harmless,
  },
  {
    id: "F18",
    name: "host-objects",
    attack: "Searches promises, iterators and responses for objects of the host.",
    permissions: { run: [{ binary: "echo", args: ["hello"] }] },
    top: tools,
    body: `
    const child = await ctx.run("echo", ["hello"]);
    const reader = child.stdout[Symbol.asyncIterator]();
    const things = [ctx.kv.get("x"), ctx.sleep(1), child, child.exit, child.stdin, child.stdout, reader, reader.next(), ctx.signal];
    for (const thing of things) {
      thing?.catch?.(() => {});
      if (thing instanceof Promise && Object.getPrototypeOf(thing) !== Promise.prototype) ${
      breach(`"a foreign promise"`)
    }
      if (!(thing instanceof Object)) ${breach(`"a foreign object"`)}
      const keys = Reflect.ownKeys(thing).map(String);
      if (keys.some((key) => /^(_|#|domain|async_id|handle|kHandle|port)/i.test(key))) ${breach("keys")}
      if (powerOf(thing)) ${breach("powerOf(thing)")}
    }
    await child.exit;`,
    ...harmless,
  },
  {
    id: "F19",
    name: "built-in-modules",
    attack: "Asks in every known way for the runtime's built-in modules.",
    top: tools,
    body: `
    const texts = ["process.getBuiltinModule('fs')", "process.binding('fs')", "process.dlopen", "require('fs')", "module.constructor._load('fs')", "Deno.readTextFileSync('/etc/passwd')",
      "Deno.core", "Deno[Deno.internal]", "globalThis.bootstrap", "internalBinding('fs')", "primordials", "exports", "__filename", "vm", "new Worker('data:text/javascript,1')",
      "navigator.hardwareConcurrency", "importScripts('x')", "queueMicrotask.constructor('return process')()"];
    for (const text of texts) {
      const value = attempt(() => (0, eval)(text));
      if (value !== undefined) ${breach("text")}
    }`,
    ...harmless,
  },
  ...([
    ["absolute", { "mod.js": `import x from "/etc/passwd"; export default x;` }],
    ["climbing", { "mod.js": `import x from "../../../../../../etc/passwd"; export default x;` }],
    ["data-url", { "mod.js": `import x from "data:text/plain,x"; export default x;` }],
    ["file-url", { "mod.js": `import x from "file:///etc/passwd"; export default x;` }],
    ["web", { "mod.js": `import x from "https://example.com/x.js"; export default x;` }],
    ["imports-map", {
      "mod.js": `import x from "#x"; export default x;`,
      "package.json": `{"name":"x","imports":{"#x":"../../../../../../etc/passwd"},"browser":{"./a.js":"/etc/passwd"}}`,
    }],
    ["text-file", { "mod.js": `import x from "./x.txt"; export default x;`, "x.txt": "BREACH" }],
    ["attribute", { "mod.js": `import x from "./x.json" with { type: "text" }; export default x;`, "x.json": "1" }],
  ] as const).map(([name, files]): AttackCase => ({
    id: "F22",
    name: `import-${name}`,
    attack: `Has the bundler read what is not its code (${name.replaceAll("-", " ")}).`,
    files,
    expected: { kind: "refused", codes: ["bundle_failed", "load_failed", "adapter_incomplete"] },
    withinMs: 20_000,
  })),
  {
    id: "F22",
    name: "tsconfig",
    attack: "Settings for the bundler beside the code: paths that lead out, a JSX factory, extends.",
    files: {
      "tsconfig.json":
        `{"extends":"../../../../../../etc/passwd","compilerOptions":{"paths":{"*":["/etc/*"]},"jsxFactory":"process.exit"}}`,
      "package.json": `{"name":"x","browser":{"./mod.js":"/etc/passwd"},"main":"/etc/passwd","exports":"/etc/passwd"}`,
    },
    body: `yield { type: "progress", message: "bundled" };`,
    ...harmless,
  },
  {
    id: "F20",
    name: "before-lockdown",
    attack: "Brings start-up settings and files that runtimes load by themselves.",
    files: {
      ".npmrc": "node-options=--require ./evil.cjs",
      ".env": "NODE_OPTIONS=--require ./evil.cjs",
      "deno.json": `{"imports":{"bulkhead/plugin-sdk":"./evil.cjs"},"preload":["./evil.cjs"]}`,
      "evil.cjs": `throw new Error("BREACH: loaded before the compartment");`,
      "node_modules/bulkhead/package.json":
        `{"name":"bulkhead","main":"../../evil.cjs","exports":{"./plugin-sdk":"./evil.js"}}`,
      "node_modules/bulkhead/evil.js": `throw new Error("BREACH: another SDK");`,
    },
    body: `yield { type: "progress", message: "started" };`,
    ...harmless,
  },
  {
    id: "F23",
    name: "source-names",
    attack: "Names its code as a file of the host, to be shown or loaded as one.",
    top: "//# sourceURL=file:///host/internal.js\n//# sourceMappingURL=file:///etc/passwd",
    body: `(0, eval)("(() => { throw new Error('named'); })()\\n//# sourceURL=file:///host/internal.js");`,
    expected: { kind: "error", codes: ["fatal"] },
    check: ({ result }) => {
      const text = JSON.stringify(result?.error ?? {});
      return /file:|internal\.js|passwd/.test(text) ? `A forged name is shown: ${text.slice(0, 200)}` : null;
    },
    withinMs: 20_000,
  },
  {
    id: "F23",
    name: "source-map-of-host",
    attack: "Names a file outside as its source map, in every form of comment, to have the bundler read it.",
    files: { "mod.js": `${mapComments}${differential}${mapComments}` },
    ...harmless,
  },
  {
    id: "F24",
    name: "byte-order-mark",
    attack: "A mark of byte order and characters that readers of source understand differently.",
    files: { "mod.js": "\ufeff" + differential },
    ...harmless,
  },
  {
    id: "F25",
    name: "web-platform",
    attack: "Looks for what Deno gives even to workers without permissions.",
    top: tools,
    body: `
    const names = ["Deno", "Worker", "BroadcastChannel", "caches", "localStorage", "navigator", "fetch", "WebSocket", "EventSource", "Request", "Response", "Blob", "createImageBitmap",
      "GPU", "self", "window", "close", "location", "alert", "confirm", "prompt", "reportError", "WebSocketStream", "WebTransport", "Storage", "process", "global", "Buffer"];
    for (const name of names) if (typeof attempt(() => globalThis[name]) !== "undefined") ${breach("name")}
    const own = Object.getOwnPropertyNames(globalThis).filter((name) => names.includes(name));
    if (own.length > 0) ${breach("own")}`,
    ...harmless,
  },
  {
    id: "F26",
    name: "transform-blind-spots",
    attack: "Syntax that a rewriter of source may misread: regular expressions, templates, new words.",
    body: `
    const parts = [/import\\(/.source, \`\${"im"}port(\`, "import(", 'x import ("y")', "im" + "port(", /[/]import\\(x\\)/.source];
    const holder = { import(x) { return x; }, get: { import: 1 }, "import(": 2 };
    if (holder.import(1) !== 1) ${breach(`"a method was changed"`)}
    if (parts[2] !== "imp" + "ort(" || parts[1] !== parts[2] || parts[4] !== parts[2]) ${breach("parts")}
    class A { static #import = 1; static { this.done = this.#import; } accessor = 2; async = 3; get = 4; }
    label: for (const await_ of [1]) { if (await_ / 1 / 1) break label; }
    let yield_ = 1, of = 2; of /= yield_ / 1;
    if (A.done !== 1 || of !== 2) ${breach(`"a meaning was changed"`)}
    const text = \`\${\`\${"}"}import(\`}<!--\`;
    if (text.length !== 12) ${breach("text")}`,
    ...harmless,
  },
  {
    id: "F27",
    name: "own-compartment",
    attack:
      "Uses the compartment's own tools: lockdown again, harden what it was given, a compartment in the compartment.",
    top: tools,
    body: `
    attempt(() => lockdown({ evalTaming: "unsafe-eval", overrideTaming: "min" }));
    attempt(() => harden(globalThis));
    const inner = attempt(() => new Compartment({ globals: { x: 1 }, __options__: true }));
    const found = attempt(() => inner.evaluate("[typeof process, typeof Deno, typeof require, typeof fetch].join()"));
    if (found !== undefined && found !== "undefined,undefined,undefined,undefined") ${breach("found")}
    const outer = attempt(() => inner.evaluate("(function () { return this; })()"));
    if (powerOf(outer)) ${breach(`"a global of the host"`)}
    let loaded = false;
    try { await inner.import("node:fs"); loaded = true; } catch {}
    if (loaded) ${breach(`"a module"`)}`,
    ...harmless,
  },
];
