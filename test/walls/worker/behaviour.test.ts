import { expect, test } from "vitest";
import { adapterCode, completed, openHost } from "../../sessions/host/test-host.ts";

/** What an expression gives in adapter code, as JSON; a throw gives its name and message. */
async function inAdapter(body: string): Promise<unknown> {
  const made = await openHost();
  const code = adapterCode(`    let told;
    try { told = await (async () => {\n${body}\n})(); } catch (error) { told = { thrown: error.name + ": " + error.message }; }
    yield { type: "output", stream: "stdout", data: JSON.stringify(told ?? null) };
    yield ${completed};`);
  await made.add("works", { code });
  const { result } = await made.run("works");
  if (result.outcome !== "completed") throw new Error(JSON.stringify(result.error));
  return JSON.parse(result.output);
}

test("TextEncoder and TextDecoder encode, decode in pieces, and refuse what is not UTF-8 when told so", async () => {
  expect(
    await inAdapter(`
  const bytes = new TextEncoder().encode("aä€😀");
  const target = new Uint8Array(4);
  const into = new TextEncoder().encodeInto("a€😀", target);
  const pieces = new TextDecoder();
  const text = [...bytes].map((byte) => pieces.decode(new Uint8Array([byte]), { stream: true })).join("") + pieces.decode();
  let refused = "";
  try { new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array([0xff])); } catch (error) { refused = error.name; }
  return [bytes.length, bytes instanceof Uint8Array, into, [...target], text, new TextDecoder().decode(new Uint8Array([0xff])), refused,
    new TextEncoder().encoding, new TextDecoder("latin1").decode(new Uint8Array([0xe4])), atob(btoa("hi")),
    new TextDecoder().decode(new TextEncoder().encode("x").buffer), new TextEncoder().encode().length];`),
  ).toEqual([
    10,
    true,
    { read: 2, written: 4 },
    [97, 226, 130, 172],
    "aä€😀",
    "\ufffd",
    "TypeError",
    "utf-8",
    "ä",
    "hi",
    "x",
    0,
  ]);
});

test("URL parses, resolves, can be changed, and its searchParams are its own", async () => {
  expect(
    await inAdapter(`
  const url = new URL("../b?x=1&y=2#h", "https://u:p@example.com:8443/a/c/");
  url.searchParams.append("z", "a b");
  url.pathname = "/new path";
  url.hash = "";
  let bad = "";
  try { new URL("nope"); } catch (error) { bad = error.name; }
  return { href: url.href, text: String(url), json: JSON.stringify({ url }), host: url.host, hostname: url.hostname, port: url.port,
    protocol: url.protocol, username: url.username, password: url.password, search: url.search, origin: url.origin,
    can: [URL.canParse("a:b"), URL.canParse("b"), URL.canParse("b", "a://c")], bad };`),
  ).toEqual({
    href: "https://u:p@example.com:8443/new%20path?x=1&y=2&z=a+b",
    text: "https://u:p@example.com:8443/new%20path?x=1&y=2&z=a+b",
    json: `{"url":"https://u:p@example.com:8443/new%20path?x=1&y=2&z=a+b"}`,
    host: "example.com:8443",
    hostname: "example.com",
    port: "8443",
    protocol: "https:",
    username: "u",
    password: "p",
    search: "?x=1&y=2&z=a+b",
    origin: "https://example.com:8443",
    can: [true, false, true],
    bad: "TypeError",
  });
});

test("URLSearchParams reads every form, keeps order and repeats, and iterates", async () => {
  expect(
    await inAdapter(`
  const params = new URLSearchParams("?b=1&a=2&b=3");
  const copy = new URLSearchParams(params);
  copy.delete("b"); copy.set("c", 4);
  const seen = [];
  params.forEach((value, key) => seen.push(key + value));
  params.sort();
  return [params.getAll("b"), params.get("x"), params.has("a"), [...params], [...params.keys()], [...params.values()], params.size,
    String(copy), String(new URLSearchParams({ q: "a&b" })), String(new URLSearchParams([["k", "v"]])), seen];`),
  ).toEqual([
    ["1", "3"],
    null,
    true,
    [["a", "2"], ["b", "1"], ["b", "3"]],
    ["a", "b", "b"],
    ["2", "1", "3"],
    3,
    "a=2&c=4",
    "q=a%26b",
    "k=v",
    ["b1", "a2", "b3"],
  ]);
});

test("AbortController tells listeners once, keeps its first reason, and cannot be reached from a signal", async () => {
  expect(
    await inAdapter(`
  const controller = new AbortController();
  const { signal } = controller;
  const seen = [];
  signal.addEventListener("abort", () => seen.push("one"), { once: true });
  signal.addEventListener("abort", { handleEvent: (event) => seen.push(event.type) });
  const gone = () => seen.push("gone");
  signal.addEventListener("abort", gone);
  signal.removeEventListener("abort", gone);
  signal.onabort = () => seen.push("on");
  const any = AbortSignal.any([new AbortController().signal, signal]);
  controller.abort("first");
  controller.abort("second");
  let thrown;
  try { signal.throwIfAborted(); } catch (reason) { thrown = reason; }
  const plain = new AbortController(); plain.abort();
  const ended = ctx.signal.aborted;
  return [seen.sort(), signal.reason, any.aborted, any.reason, thrown, AbortSignal.abort("x").reason, plain.signal.reason.name,
    typeof ctx.signal.abort, ended];`),
  ).toEqual([["abort", "on", "one"], "first", true, "first", "first", "x", "AbortError", "undefined", false]);
});

test("an adapter that dispatches abort on its own signal does not end itself or fake its state", async () => {
  expect(
    await inAdapter(`
  let heard = 0;
  ctx.signal.addEventListener("abort", () => heard++);
  ctx.signal.dispatchEvent({ type: "abort" });
  return [heard, ctx.signal.aborted, ctx.signal.reason ?? null];`),
  ).toEqual([1, false, null]);
});

test("timers run in order with their arguments and without a receiver, can be stopped, and are capped", async () => {
  expect(
    await inAdapter(`
  const order = [];
  const timer = (ms, name) => new Promise((resolve) => setTimeout(function (given) { order.push(given, typeof this); resolve(); }, ms, name));
  const stopped = setTimeout(() => order.push("stopped"), 5);
  clearTimeout(stopped);
  clearTimeout(undefined); clearTimeout("nonsense"); clearTimeout({});
  await Promise.all([timer(40, "late"), timer(1, "early")]);
  let ticks = 0;
  await new Promise((resolve) => { const id = setInterval(() => { if (++ticks === 3) { clearInterval(id); resolve(); } }, 1); });
  await new Promise((resolve) => queueMicrotask(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  let capped = 0;
  try { for (;;) { setTimeout(() => {}, 100000); capped++; } } catch (error) { return [order, ticks, typeof stopped, capped, error.name]; }`),
  ).toEqual([["early", "undefined", "late", "undefined"], 3, "number", 1024, "RangeError"]);
});

test("a worker listens while its adapter yields much without a pause", async () => {
  const made = await openHost();
  await made.add("floods", {
    code: adapterCode(`let turns = 0;
      const turn = () => { turns++; setTimeout(turn, 0); };
      setTimeout(turn, 0);
      for (let n = 0; n < 12; n++) yield { type: "output", stream: "stdout", data: "x".repeat(300_000) };
      yield { type: "progress", message: String(turns) };
      yield ${completed};`),
  });
  const { events } = await made.run("floods");
  const said = events.flatMap(({ event }) => event.type === "progress" ? [Number(event.message)] : []);
  // 3.6 MB in 12 events, of which the credit of a session allows all at once.
  expect(said).toEqual([expect.any(Number)]);
  expect(said[0]).toBeGreaterThanOrEqual(2);
});

test("a throw in a timer or microtask fails its session as a crash with the author's words", async () => {
  const made = await openHost();
  for (const [id, start] of [["timer", "setTimeout"], ["micro", "queueMicrotask"]] as const) {
    await made.add(id, {
      code: adapterCode(`    ${start}(() => { throw new Error("Boom."); }, 1);\n    await ctx.sleep(5000);`),
    });
    const { result } = await made.run(id);
    expect(result).toMatchObject({ stop_reason: "crash", error: { code: "crash", message: "Boom." } });
  }
});

test("an uncaught rejection ends the worker and is told in the author's words", async () => {
  const made = await openHost();
  await made.add("rejects", {
    code: adapterCode(`    Promise.reject(new Error("Nobody caught this."));\n    await ctx.sleep(5000);`),
  });
  const { result } = await made.run("rejects");
  expect(result).toMatchObject({
    stop_reason: "crash",
    error: { code: "crash", message: expect.stringContaining("Nobody caught this.") },
  });
});

test("structuredClone copies, and refuses what cannot be copied", async () => {
  expect(
    await inAdapter(`
  const source = { date: new Date(5), map: new Map([["k", new Set([1])]]), bytes: new Uint8Array([1, 2]), list: [1, , 3] };
  source.self = source;
  const copy = structuredClone(source);
  const own = copy !== source && copy.self === copy && copy.bytes !== source.bytes && copy.map !== source.map;
  const kinds = [copy.date instanceof Date, copy.map instanceof Map, copy.bytes instanceof Uint8Array, Array.isArray(copy.list), copy instanceof Object];
  let refused = "";
  try { structuredClone(() => 1); } catch (error) { refused = error.constructor.name; }
  return [own, kinds, copy.date.getTime(), copy.map.get("k").has(1), 1 in copy.list, refused];`),
  ).toEqual([true, [true, true, true, true, true], 5, true, false, "TypeError"]);
});

test("crypto gives random bytes and ids and nothing else", async () => {
  expect(
    await inAdapter(`
  const big = new Uint8Array(64);
  const same = crypto.getRandomValues(big);
  const words = crypto.getRandomValues(new Uint32Array(16));
  const part = new Uint8Array(16);
  crypto.getRandomValues(part.subarray(8));
  return [same === big, big.some((byte) => byte !== 0), words.some((word) => word > 0xffffff), part.slice(0, 8).every((byte) => byte === 0),
    /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()), Object.keys(crypto).sort(), Object.isFrozen(crypto)];`),
  ).toEqual([true, true, true, true, true, ["getRandomValues", "randomUUID"], true]);
});

test("the clock is coarse and the language's own parts are there", async () => {
  expect(
    await inAdapter(`
  const now = performance.now();
  return [Number.isInteger(now), Math.abs(Date.now() - new Date().getTime()) < 1000, Math.random() < 1, Date.now() > 1.6e12,
    new Float64Array([1.5])[0], new Float32Array([0.5])[0], JSON.stringify(new Date(0))];`),
  ).toEqual([true, true, true, true, 1.5, 0.5, `"1970-01-01T00:00:00.000Z"`]);
});

test("console writes text to the session's log, whatever it is given", async () => {
  const made = await openHost();
  const code = adapterCode(`    const loop = {}; loop.loop = loop;
    console.log("plain", 5, { a: 1 }, null, undefined);
    console.warn(loop, Symbol("s"), 1n, () => 1);
    console.error(new TypeError("bad"));
    console.debug("%s %o", "x");
    ctx.log.info("with fields", { a: [1] });
    await ctx.sleep(50);
    yield ${completed};`);
  await made.add("talks", { code });
  expect((await made.run("talks")).result.outcome).toBe("completed");
  const logs = made.logs.filter(({ plugin_id }) => plugin_id !== undefined);
  expect(logs.map(({ level, message }) => [level, message])).toEqual([
    ["info", `plain 5 {"a":1} null undefined`],
    ["warn", "object symbol bigint function"],
    ["error", "TypeError: bad"],
    ["debug", "%s %o x"],
    ["info", "with fields"],
  ]);
  expect(logs.every(({ plugin_id, session_id }) => plugin_id === "talks" && typeof session_id === "string")).toBe(
    true,
  );
  expect(logs[4]?.fields).toEqual({ a: [1] });
});

test("module-level state of one session is not seen by the next on the same worker", async () => {
  const made = await openHost();
  const code = `let count = 0;\n${
    adapterCode(`    count += 1; globalThis.seen = (globalThis.seen ?? 0) + 1;
    yield { type: "output", stream: "stdout", data: JSON.stringify([count, globalThis.seen]) };
    yield ${completed};`)
  }`;
  await made.add("stateful", { code }, { limits: { workers: 1 } });
  for (let time = 0; time < 3; time++) expect(JSON.parse((await made.run("stateful")).result.output)).toEqual([1, 1]);
});

test("pieces of output arrive as they were yielded, whatever stands between them or only looks like one", async () => {
  const made = await openHost();
  const code = adapterCode(`    const out = (data, stream = "stdout") => ({ type: "output", stream, data });
    const shared = out("first state");
    yield shared;
    shared.data = "second state";
    yield shared;
    yield "a text of its own";
    yield ["another", out("in an array"), out("and one more"), "third", out("")];
    yield { type: "output", get stream() { return "stdout"; }, get data() { return "from a getter"; } };
    yield new Proxy(out("behind a proxy"), {});
    yield Object.create(null, Object.getOwnPropertyDescriptors(out("without a prototype")));
    yield { type: "output", data: "in another order", stream: "stdout" };
    yield out("on the side", "stderr");
    yield { type: "thinking", content: "a thought" };
    yield { type: "thinking", content: "counted", tokens_used: 3 };
    yield { type: "thinking", content: 'the "last" \\\\ \\u2028 \\ud83d' };
    yield out("x".repeat(20_000));
    yield out("short");
    try { yield { type: "output", stream: "stdout", get data() { throw new TypeError("mine"); } }; }
    catch (error) { yield out(error.message); }
    yield ${completed};`);
  await made.add("mixes", { code });
  const { events, result } = await made.run("mixes");
  expect(result.outcome).toBe("completed");
  const output = (data: string, stream = "stdout") => ({ type: "output", stream, data });
  const unparsed = (yielded: unknown) => ({ type: "unparsed", data: { problem: expect.any(String), yielded } });
  const expected = [
    output("first state"),
    output("second state"),
    unparsed("a text of its own"),
    unparsed("another"),
    output("in an array"),
    output("and one more"),
    unparsed("third"),
    output(""),
    output("from a getter"),
    output("behind a proxy"),
    output("without a prototype"),
    output("in another order"),
    output("on the side", "stderr"),
    { type: "thinking", content: "a thought" },
    { type: "thinking", content: "counted", tokens_used: 3 },
    { type: "thinking", content: 'the "last" \\ \u2028 \ud83d' },
    output("x".repeat(20_000)),
    output("short"),
    output(expect.stringContaining("mine") as unknown as string),
  ];
  const said = (all: typeof events) =>
    all.filter(({ source }) => source === "agent").map(({ event }) => event).slice(0, -1);
  expect(said(events)).toEqual(expected);
  const again = await made.host.sessions.open(result.session_id);
  const kept: typeof events = [];
  for await (const one of again.events()) kept.push(one);
  expect(kept).toEqual(events);
});
