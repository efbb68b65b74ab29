/**
 * Text of the functions with which adapter code looks at its own world: `walk(roots)` gives every object that can be
 * reached through prototypes, properties (symbols and accessors too) and what `roots` name, with the path it was
 * reached by.
 */
export const walkerSource = `
function walk(roots, known = new Set()) {
  const found = new Map();
  const queue = [];
  const meet = (value, path) => {
    if ((typeof value !== "object" || value === null) && typeof value !== "function") return;
    if (known.has(value) || found.has(value)) return;
    found.set(value, path);
    queue.push(value);
  };
  for (const [name, value] of Object.entries(roots)) meet(value, name);
  for (let at = 0; at < queue.length; at++) {
    const value = queue[at];
    const path = found.get(value);
    if (path.length > 400) throw new Error("endless path " + path);
    meet(Reflect.getPrototypeOf(value), path + ".__proto__");
    for (const key of Reflect.ownKeys(value)) {
      const name = path + (typeof key === "symbol" ? "[" + String(key) + "]" : "." + key);
      const descriptor = Reflect.getOwnPropertyDescriptor(value, key);
      if ("value" in descriptor) meet(descriptor.value, name);
      else {
        meet(descriptor.get, name + ".get");
        meet(descriptor.set, name + ".set");
        // What an accessor gives is reachable as well; one that needs another receiver throws.
        try { meet(descriptor.get && Reflect.apply(descriptor.get, value, []), name + "()"); } catch {}
      }
    }
  }
  return found;
}

/** Every object that all compartments share: what two bare ones have in common, with the prototypes no name leads to. */
function intrinsics() {
  const proto = Reflect.getPrototypeOf;
  const hidden = () => ({
    bare: new Compartment({ __options__: true }).globalThis,
    arrayIterator: proto([][Symbol.iterator]()),
    mapIterator: proto(new Map().entries()),
    setIterator: proto(new Set().values()),
    stringIterator: proto(""[Symbol.iterator]()),
    matchIterator: proto("".matchAll(/x/g)),
    generator: proto(function* () {}),
    asyncGenerator: proto(async function* () {}),
    asyncFunction: proto(async () => {}),
    // Some engines give each error accessors of its own for its stack.
    stack: Reflect.getOwnPropertyDescriptor(new Error("x"), "stack") ?? {},
  });
  const other = new Set(walk(hidden()).keys());
  return new Set([...walk(hidden()).keys()].filter((value) => other.has(value)));
}
`;

/** Text of a function that makes one of everything that adapter code can get from its context, by name. */
export const belongingsSource = `
async function belongings(ctx, request) {
  const failure = async (run) => { try { await run(); } catch (error) { return error; } return null; };
  const child = await ctx.run("/bin/echo", ["hello"]);
  const chunks = [];
  const reader = child.stdout[Symbol.asyncIterator]();
  const first = await reader.next();
  const returned = await reader.return();
  const exit = await child.exit;
  await ctx.fs.writeText("made.txt", "text");
  await ctx.kv.set("key", { a: [1, { b: 2 }] });
  const events = [];
  const controller = new AbortController();
  controller.signal.addEventListener("abort", (event) => events.push(event));
  controller.abort();
  const timerThis = await new Promise((resolve) => setTimeout(function (...args) { resolve([this, ...args]); }, 1, "a"));
  const microtaskThis = await new Promise((resolve) => queueMicrotask(function (...args) { resolve([this, ...args]); }));
  const immediateThis = await new Promise((resolve) => setImmediate(function (...args) { resolve([this, ...args]); }));
  const interval = setInterval(() => {}, 1000);
  clearInterval(interval);
  const url = new URL("https://user@example.com:8080/a?b=c#d");
  const response = await ctx.fetch(request.prompt);
  const body = response.body[Symbol.asyncIterator]();
  const connection = await ctx.connect(request.prompt.replace("http:", "ws:"));
  const messages = connection.messages[Symbol.asyncIterator]();
  return {
    ctx, request, child, first, returned, exit, events, controller, timerThis, microtaskThis, immediateThis, interval, response, body,
    connection, messages,
    message: await messages.next(),
    messagesTwice: await failure(() => connection.messages[Symbol.asyncIterator]()),
    left: await messages.return(),
    sentLate: await failure(() => connection.send("x")),
    pending: ctx.sleep(1),
    bodyChunk: await body.next(),
    stat: await ctx.fs.stat("made.txt"),
    list: await ctx.fs.list("."),
    text: await ctx.fs.readText("made.txt"),
    temp: await ctx.temp.write("t.txt", "x"),
    kv: await ctx.kv.get("key"),
    keys: await ctx.kv.list(),
    missing: await ctx.env.get("BULKHEAD_TEST_NOT_SET"),
    deniedRead: await failure(() => ctx.fs.readText("/etc/passwd")),
    deniedRun: await failure(() => ctx.run("/bin/true", [])),
    deniedEnv: await failure(() => ctx.env.get("HOME")),
    deniedFetch: await failure(() => ctx.fetch("http://127.0.0.1:1/")),
    deniedConnect: await failure(() => ctx.connect("ws://127.0.0.1:1/")),
    notFound: await failure(() => ctx.fs.readText("nothing.txt")),
    readTwice: await failure(() => child.stdout[Symbol.asyncIterator]()),
    unanswered: await ctx.permission("never asked"),
    badArgument: await failure(() => ctx.kv.set("key", 1n)),
    badUrl: await failure(() => new URL("no url")),
    badClone: await failure(() => structuredClone(() => {})),
    badEncoding: await failure(() => new TextDecoder("no such encoding")),
    badBytes: await failure(() => new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array([255]))),
    badBase64: await failure(() => atob("*")),
    badTimer: await failure(() => setTimeout("code")),
    badRandom: await failure(() => crypto.getRandomValues(5)),
    muchRandom: await failure(() => crypto.getRandomValues(new Uint8Array(70000))),
    clone: structuredClone({ a: [new Date(0), new Map([[1, new Set([2])]]), new Uint8Array(2), /x/g, new RangeError("r")] }),
    random: crypto.getRandomValues(new Uint8Array(4)),
    encoder: new TextEncoder(),
    encoded: new TextEncoder().encode("ä"),
    into: new TextEncoder().encodeInto("ä", new Uint8Array(4)),
    decoder: new TextDecoder(),
    url,
    params: url.searchParams,
    entries: url.searchParams.entries(),
    entry: url.searchParams.entries().next(),
    keysOf: url.searchParams.keys(),
    target: new EventTarget(),
    event: new Event("x"),
    reason: controller.signal.reason,
    thrownByAbort: await failure(() => controller.signal.throwIfAborted()),
    any: AbortSignal.any([controller.signal]),
    aborted: AbortSignal.abort("why"),
  };
}
`;
