import { createServer, type Server } from "node:http";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { adapterCode, completed, isolations, openHost, type TestHost } from "../../sessions/host/test-host.ts";
import { belongingsSource, walkerSource } from "./walker.ts";

let server: Server;
let address = "";
beforeEach(async () => {
  server = createServer((_request, response) => response.end("hello"));
  new WebSocketServer({ server }).on("connection", (socket) => socket.send("hello"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const bound = server.address();
  address = typeof bound === "object" && bound ? `127.0.0.1:${bound.port}` : "";
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** An adapter that looks at its own world: `look` gives what is to be told, as JSON. */
async function addLooker(made: TestHost, isolation: "process" | "thread", look: string): Promise<void> {
  const code = adapterCode(`    const told = await look(ctx, request);
    yield { type: "output", stream: "stdout", data: JSON.stringify(told === undefined ? null : told) };
    yield ${completed};`);
  await made.add("looker", {
    code: `${code}\n${walkerSource}\n${belongingsSource}\nasync function look(ctx, request) {\n${look}\n}\n`,
    manifest: `permissions:
  run: [{ binary: /bin/echo, args: ["{}"] }]
  read: [workdir]
  write: [workdir]
  net: ["${address}"]
  env: [BULKHEAD_TEST_NOT_SET]
  kv: true`,
  }, {
    isolation,
    trusted: true,
    grant: {
      run: [{ binary: "/bin/echo" }],
      read: ["workdir"],
      write: ["workdir"],
      net: [address],
      env: ["BULKHEAD_TEST_NOT_SET"],
      kv: true,
    },
    limits: { workers: 1, sessions_per_worker: 8 },
  });
}

async function lookAround(made: TestHost): Promise<unknown> {
  const { result } = await made.run("looker", { prompt: `http://${address}/` });
  if (result.outcome !== "completed") throw new Error(JSON.stringify(result.error));
  return JSON.parse(result.output);
}

describe.each(isolations)("the world of adapter code in a %s", (isolation) => {
  test("has these globals beside the language's own, and no others", async () => {
    const made = await openHost();
    await addLooker(
      made,
      isolation,
      `  const bare = new Set(Reflect.ownKeys(new Compartment({ __options__: true }).globalThis));
  return Reflect.ownKeys(globalThis).filter((key) => !bare.has(key)).map(String).sort();`,
    );
    expect(await lookAround(made)).toEqual([
      "AbortController",
      "AbortSignal",
      "Event",
      "EventTarget",
      "Float32Array",
      "Float64Array",
      "URL",
      "URLSearchParams",
      "atob",
      "btoa",
      "clearImmediate",
      "clearInterval",
      "clearTimeout",
      "console",
      "crypto",
      "performance",
      "queueMicrotask",
      "setImmediate",
      "setInterval",
      "setTimeout",
      "structuredClone",
    ]);
  });

  test("holds no global of the host, however it is asked for", async () => {
    const made = await openHost();
    await addLooker(
      made,
      isolation,
      `  const names = ["process", "require", "module", "Buffer", "fetch", "WebAssembly", "SharedArrayBuffer", "Atomics", "Worker", "Deno",
    "global", "window", "self", "MessageChannel", "MessagePort", "BroadcastChannel", "Response", "Request", "Headers", "Blob",
    "WeakRef", "FinalizationRegistry", "Intl", "navigator", "localStorage", "caches", "gc", "v8"];
  const ways = {
    indirect: (name) => (0, eval)("typeof " + name),
    made: (name) => new Function("return typeof " + name)(),
    owned: (name) => typeof globalThis[name],
    ofThis: (name) => typeof (function () { return this; })()?.[name],
    nested: (name) => new Compartment({ __options__: true }).evaluate("typeof " + name),
    reflected: (name) => Reflect.construct(Function, ["return typeof " + name])(),
  };
  return Object.entries(ways).flatMap(([way, ask]) => names.filter((name) => ask(name) !== "undefined").map((name) => way + " " + name));`,
    );
    expect(await lookAround(made)).toEqual([]);
  });

  test("all that sessions share is frozen, and no object of the host is in it", async () => {
    const made = await openHost();
    await addLooker(
      made,
      isolation,
      `  const shared = intrinsics();
  const openIntrinsics = [...shared].filter((value) => !Object.isFrozen(value)).map((value) => String(Object.prototype.toString.call(value)));
  const own = walk({ global: globalThis, ...await belongings(ctx, request) }, shared);
  const faults = [];
  const fault = (text, path) => faults.push(text + " " + path);
  for (const [value, path] of own) {
    const tag = Object.prototype.toString.call(value);
    if (/process|Deno|Module|WebAssembly|Atomics|MessagePort|Timeout|Socket|Stream|Buffer\\b(?<!ArrayBuffer)|DOMException/.test(tag)) fault(tag, path);
    if (typeof value === "function") {
      if (!Object.isFrozen(value) && !own.get(value).startsWith("global.")) fault("open function", path);
      const text = Function.prototype.toString.call(value);
      const native = /\\{\\s*\\[native code\\]\\s*\\}$/.test(text);
      if (native && !/^global\\.(Date|Math|Float32Array|Float64Array|Compartment|Function|eval)\\b/.test(path)) fault("native function", path);
    }
    // Whatever is a prototype is shared by all that are made of it.
    const proto = Reflect.getPrototypeOf(value);
    if (proto !== null && !Object.isFrozen(proto)) fault("open prototype of", path);
    if (proto !== null && !shared.has(proto) && Object.hasOwn(proto, "constructor")) {
      const maker = proto.constructor.name;
      if (!/^(_?Safe\\w+|BulkheadError|Date|Float(32|64)Array|Math|DefinedAdapter|AgentAdapter|AsyncGenerator.*|)$/.test(maker)) fault("maker " + maker + " of", path);
    }
    for (const key of Reflect.ownKeys(value)) {
      if (typeof key === "symbol" && /nodejs|kState|kHandle|inspect/i.test(String(key))) fault("key " + String(key), path);
    }
  }
  return { openIntrinsics, faults, seen: [own.size > 100, shared.size > 500] };`,
    );
    expect(await lookAround(made)).toEqual({ openIntrinsics: [], faults: [], seen: [true, true] });
  });

  test("a mark left on everything that takes one is seen by no other session of the same worker", async () => {
    const made = await openHost();
    await addLooker(
      made,
      isolation,
      `  const mark = Symbol.for("bulkhead.test.mark");
  const all = walk({ global: globalThis, ...await belongings(ctx, request) });
  const marked = [];
  const left = [];
  for (const [value, path] of all) {
    if (Object.hasOwn(value, mark)) marked.push(path + " by " + value[mark]);
    try { if (Reflect.defineProperty(value, mark, { value: ctx.session_id })) left.push(path); } catch {}
  }
  await ctx.sleep(100);
  for (const [value, path] of all) {
    if (Object.hasOwn(value, mark) && value[mark] !== ctx.session_id) marked.push(path + " by " + value[mark]);
  }
  return { marked, left: left.length > 10 };`,
    );
    const first = await lookAround(made);
    const atOnce = await Promise.all([lookAround(made), lookAround(made), lookAround(made)]);
    for (const seen of [first, ...atOnce]) expect(seen).toEqual({ marked: [], left: true });
  });

  test("errors carry a code, a sentence and nothing of the host", async () => {
    const made = await openHost();
    await addLooker(
      made,
      isolation,
      `  const all = await belongings(ctx, request);
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value instanceof Error).map(([name, error]) => [name, {
    keys: Reflect.ownKeys(error).map(String).filter((key) => key !== "stack" && error[key] !== undefined).sort(),
    stack: String(error.stack ?? "").includes("/"),
    text: error.message, code: error.code ?? null,
  }]));`,
    );
    const errors = await lookAround(made) as Record<
      string,
      { keys: string[]; stack: boolean; text: string; code: string | null }
    >;
    expect(Object.keys(errors)).toEqual(
      expect.arrayContaining(["deniedRead", "deniedRun", "deniedFetch", "badUrl", "badClone", "reason"]),
    );
    for (const [name, { keys, stack, text }] of Object.entries(errors)) {
      expect([name, keys.filter((key) => !["code", "details", "hint", "message", "name"].includes(key))]).toEqual([
        name,
        [],
      ]);
      expect([name, stack]).toEqual([name, false]);
      expect(text).not.toMatch(/node:|ext:|\.ts\b|\.js\b|node_modules/);
    }
    for (const name of ["deniedRead", "deniedRun", "deniedEnv", "deniedFetch"]) {
      expect(errors[name]?.code).toBe("permission_denied");
    }
    expect(errors["notFound"]?.code).toBe("not_found");
  });
});

describe.each(isolations)("what endowed functions throw in a %s", (isolation) => {
  test("is a plain error of the language, whatever they are given", async () => {
    const made = await openHost();
    await addLooker(
      made,
      isolation,
      `
      const odd = [
        undefined, null, 0, -1, NaN, "", "x", "\\ud800", 1n, Symbol("s"), {}, [], Object.create(null), () => {},
        new Proxy({}, {}), new Uint8Array(1), new ArrayBuffer(2), new DataView(new ArrayBuffer(2)), new Float64Array(2),
        new Map(), Promise.resolve(), /x/, { toString() { return "http://"; } }, { length: 2 ** 32 },
      ];
      const plain = new Set([Error, TypeError, RangeError, SyntaxError, URIError, EvalError].map((one) => one.prototype));
      const faults = [];
      let calls = 0;
      const tried = (name, act) => {
        calls++;
        try {
          const value = act();
          if (typeof value === "number" && /^set/.test(name)) clearTimeout(value);
        } catch (error) {
          if (error === null || typeof error !== "object") return;
          const own = Object.getOwnPropertyNames(error).filter((key) => !["message", "stack", "cause"].includes(key));
          if (own.length === 1 && error.name === "AbortError") return;
          if (!plain.has(Object.getPrototypeOf(error)) || own.length > 0) faults.push(name + ": " + own.join() + " " + error.name);
        }
      };
      const functionsOf = (value) => Reflect.ownKeys(value).flatMap((key) => {
        const { value: held, get, set } = Object.getOwnPropertyDescriptor(value, key);
        return [held, get, set].filter((one) => typeof one === "function" && key !== "constructor").map((one) => [String(key), one]);
      });
      const names = ["structuredClone", "TextEncoder", "TextDecoder", "atob", "btoa", "URL", "URLSearchParams", "AbortController",
        "AbortSignal", "EventTarget", "Event", "setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval",
        "clearImmediate", "queueMicrotask", "crypto", "performance", "console"];
      const quiet = ["console", "queueMicrotask", "setTimeout", "setInterval", "setImmediate"];
      for (const name of names) {
        const value = globalThis[name];
        const some = quiet.includes(name) ? odd.filter((one) => typeof one !== "function") : odd;
        const holders = typeof value === "function" && value.prototype ? [value] : [];
        const made = [];
        for (const holder of holders) {
          for (const one of odd) tried("new " + name, () => new holder(one, one));
          for (const args of [[], ["http://x/"], ["utf-8", { fatal: true }]]) {
            try { made.push(new holder(...args)); } catch {}
          }
          for (const [key, act] of functionsOf(holder)) for (const one of odd) tried(name + "." + key, () => act.call(holder, one, one));
        }
        if (typeof value === "function" && !value.prototype) for (const one of some) tried(name, () => value(one, one));
        if (typeof value === "object") for (const [key, act] of functionsOf(value)) for (const one of some) tried(name + "." + key, () => act.call(value, one, one));
        for (const object of made) {
          for (const [key, act] of functionsOf(Object.getPrototypeOf(object))) {
            for (const one of odd) for (const two of odd) tried(name + "#" + key, () => act.call(object, one, two));
            for (const one of odd) tried(name + "#" + key, () => act.call(one, one));
          }
        }
      }
      return { faults: [...new Set(faults)], calls };
      `,
    );
    const { faults, calls } = await lookAround(made) as { faults: string[]; calls: number };
    expect(faults).toEqual([]);
    expect(calls).toBeGreaterThan(5000);
  });
});
