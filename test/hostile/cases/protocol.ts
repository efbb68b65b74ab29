import type { AttackCase } from "../../../core/kit/attack/attack-case.ts";

type Ending = Pick<AttackCase, "expected" | "withinMs">;

const harmless: Ending = { expected: { kind: "harmless" }, withinMs: 20_000 };
const anyEnd: Ending = {
  expected: {
    kind: "any",
    of: [
      { kind: "harmless" },
      { kind: "error", codes: ["invalid_request", "limit_exceeded", "too_large", "timeout"] },
      { kind: "killed", codes: ["out_of_memory", "unresponsive", "crash"] },
    ],
  },
  withinMs: 25_000,
};

const strangeIterator = `import { defineAdapter } from "bulkhead/plugin-sdk";
export default defineAdapter({
  id: "attack", name: "Attack", version: "1.0.0",
  runSession() {
    let turn = 0;
    const value = { type: "progress", message: "x" };
    const twice = (first) => ({ then(resolve, reject) { resolve(first); resolve({ done: true }); reject(new Error("no")); } });
    return {
      [Symbol.asyncIterator]() { return this; },
      next: () => twice({ done: ++turn > 5, value }),
      return: () => twice({ done: false, value }),
    };
  },
});
`;

/** Corpus group D: what adapter code can do to the messages between it and the host. */
export const protocolCases: readonly AttackCase[] = [
  {
    id: "D1",
    name: "cyclic-event",
    attack: "Yields an object that holds itself, then goes on.",
    body: `
    const ring = { type: "unparsed" };
    ring.data = ring;
    try {
      yield ring;
      yield { type: "progress", message: "BREACH: a ring was sent." };
    } catch (error) {
      if (error.code !== "invalid_request") yield { type: "progress", message: "BREACH: " + error };
    }`,
    ...harmless,
  },
  {
    id: "D1",
    name: "cyclic-call",
    attack: "Hands rings to the store, the log and the console.",
    permissions: { kv: true },
    body: `
    const ring = [];
    ring.push(ring);
    const answer = await ctx.kv.set("ring", ring).then(() => "stored", (error) => error.name);
    if (answer === "stored") yield { type: "progress", message: "BREACH: a ring was stored." };
    ctx.log.info("ring", ring);
    console.log(ring);`,
    ...harmless,
  },
  {
    id: "D1",
    name: "cyclic-uncaught",
    attack: "Yields a ring and does not catch what comes of it.",
    body: `const ring = {}; ring.ring = ring; yield ring;`,
    expected: { kind: "error", codes: ["invalid_request"] },
    withinMs: 20_000,
  },
  {
    id: "D2",
    name: "not-data",
    attack: "Yields functions, symbols, big numbers and nothing.",
    body: `
    for (const thing of [() => 1, Symbol("x"), undefined, 1n, { type: "progress", message: 1n }]) {
      let sent = true;
      try { yield thing; } catch { sent = false; }
      if (sent) yield { type: "progress", message: "BREACH: a " + typeof thing + " was sent." };
    }`,
    ...harmless,
  },
  {
    id: "D2",
    name: "proxies",
    attack: "Yields proxies: one that answers, one that throws, one that was revoked.",
    body: `
    yield new Proxy({ type: "progress", message: "read through a proxy" }, {});
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    for (const thing of [proxy, new Proxy({}, { ownKeys() { throw new Proxy({}, {}); } })]) {
      try { yield thing; yield { type: "progress", message: "BREACH: a broken proxy was sent." }; } catch {}
    }`,
    ...harmless,
  },
  {
    id: "D3",
    name: "json-changes",
    attack: "A toJSON and getters that answer differently when they are asked again.",
    body: `
    let asked = 0;
    yield { toJSON() { return { type: "progress", message: asked++ ? "BREACH: it was read twice." : "once" }; } };
    let read = 0;
    yield { type: "progress", get message() { return read++ ? "BREACH: it was read twice." : "once"; } };`,
    ...harmless,
  },
  {
    id: "D3",
    name: "path-changes",
    attack: "A path that is in the working directory when it is checked and elsewhere when it is used.",
    permissions: { read: ["workdir"] },
    stage: ({ outside }) => Promise.resolve({ params: { secret: `${outside}/secret.txt` } }),
    body: `
    let asked = 0;
    const path = { toString() { return asked++ ? stage.secret : "readme.txt"; } };
    const answer = await ctx.fs.readText(path).then((text) => text, (error) => error.code);
    yield { type: "progress", message: answer + " " + asked };`,
    ...harmless,
  },
  {
    id: "D3",
    name: "arguments-change",
    attack: "An argument list that grows, and getters in options, between check and use.",
    permissions: { run: [{ binary: "echo", args: ["hello"] }] },
    body: `
    let asked = 0;
    const args = new Proxy(["hello"], { get(target, key) {
      if (key === "0") return asked++ ? "BREACH" : "hello";
      return Reflect.get(target, key);
    } });
    const child = await ctx.run("echo", args);
    for await (const text of child.stdout) yield { type: "output", stream: "stdout", data: text };
    await child.exit;`,
    ...harmless,
  },
  {
    id: "D4",
    name: "prototype-keys",
    attack: "Events with own keys called __proto__, constructor and prototype.",
    body: `
    yield JSON.parse('{"type":"progress","message":"x","__proto__":{"polluted":1}}');
    yield JSON.parse('{"type":"unparsed","data":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}}');
    yield JSON.parse('{"__proto__":{"type":"progress","message":"BREACH: the type came from a prototype"}}');
    yield { type: "tool_call", call_id: "__proto__", tool: "constructor", kind: "other", input: { __proto__: null } };`,
    check: ({ events }) =>
      Reflect.get({}, "polluted") === undefined &&
        events.every(({ event }) => Object.getPrototypeOf(event) === Object.prototype)
        ? null
        : "A prototype of the host was changed.",
    ...harmless,
  },
  {
    id: "D5",
    name: "sparse-array",
    attack: "Yields an array of 2^32 - 1 places, as a batch and as data.",
    body: `
    const sparse = [];
    sparse[2 ** 32 - 2] = 1;
    try { yield sparse; yield { type: "progress", message: "BREACH: a huge batch was taken." }; } catch {}
    yield { type: "unparsed", data: sparse };`,
    notInThread: "Half a gigabyte of text, made in one step of the engine, would be the host's own memory.",
    ...anyEnd,
  },
  {
    id: "D6",
    name: "many-keys",
    attack: "An event with a million keys.",
    body: `
    const wide = { type: "unparsed", data: {} };
    for (let i = 0; i < 1e6; i++) wide.data["k" + i] = 0;
    yield wide;`,
    notInThread: "A table of keys grows in one step of the engine: where there is no room it ends the whole process.",
    ...anyEnd,
  },
  {
    id: "D6",
    name: "deep-event",
    attack: "Events nested up to a hundred thousand levels deep.",
    body: `
    for (const levels of [63, 65, 1000, 4000, 100_000]) {
      let deep = 1;
      for (let i = 0; i < levels; i++) deep = [deep];
      try { yield { type: "unparsed", data: deep }; } catch (error) {
        if (error.code !== "invalid_request" && error.code !== "too_large") yield { type: "progress", message: "BREACH: " + error };
      }
    }`,
    ...harmless,
  },
  {
    id: "D6",
    name: "deep-call",
    attack: "Calls whose arguments are nested thousands of levels deep.",
    permissions: { kv: true },
    body: `
    for (const levels of [70, 1000, 4000, 20_000]) {
      let deep = 1;
      for (let i = 0; i < levels; i++) deep = [deep];
      const answer = await ctx.kv.set("deep", deep).then(() => "stored", (error) => error.code ?? error.name);
      if (!["invalid_request", "too_large", "RangeError"].includes(answer)) yield { type: "progress", message: "BREACH: " + levels + " " + answer };
      ctx.log.info("deep", deep);
    }`,
    ...harmless,
  },
  {
    id: "D6",
    name: "deep-error",
    attack: "Throws an error of the host's own kind whose details are nested thousands of levels deep.",
    body: `
    let deep = 1;
    for (let i = 0; i < 8000; i++) deep = [deep];
    throw Object.assign(new Error("deep"), { name: "BulkheadError", code: "fatal", hint: undefined, details: { deep } });`,
    expected: { kind: "error", codes: ["fatal"] },
    withinMs: 20_000,
  },
  {
    id: "D6",
    name: "long-key",
    attack: "Keys of a megabyte, in an event and in the fields of a log record.",
    body: `
    const key = "k".repeat(1024 * 1024);
    yield { type: "unparsed", data: { [key]: 1 } };
    yield { [key]: 1, type: "progress", message: "x" };
    ctx.log.info("long", { [key]: key });`,
    expected: { kind: "any", of: [{ kind: "harmless" }, { kind: "refused", codes: ["too_large"] }] },
    withinMs: 20_000,
  },
  {
    id: "D7",
    name: "bad-numbers",
    attack: "Numbers that JSON has no word for, that are no safe integers, or that add up to infinity.",
    body: `
    const usage = (number) => ({ type: "usage", scope: "turn", tokens_in: number, tokens_out: number, tokens_cached: null, cost: number });
    for (const number of [NaN, -0, Infinity, -1, 2 ** 53 + 2, 1.5, 1e308, 1e308]) yield usage(number);
    yield { type: "progress", message: "x", percentage: NaN };
    yield { type: "unparsed", data: [NaN, -0, Infinity, new Date(NaN)] };
    yield { type: "tool_result", call_id: "c", tool: "t", output: 1, success: true, duration_ms: -1 };`,
    check: ({ events, result }) =>
      badNumber([events.map(({ event }) => event.type === "unparsed" ? null : event), result]),
    ...harmless,
  },
  {
    id: "D6",
    name: "too-many-values",
    attack: "Events and calls of far more values than their bytes let expect.",
    permissions: { kv: true },
    body: `
    const many = [Array.from({ length: 400_000 }, () => 1), Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => ["k" + n, 1]))];
    for (const data of many) {
      let code = "none";
      try { yield { type: "unparsed", data }; } catch (error) { code = error.code; }
      const stored = await ctx.kv.set("many", data).then(() => "none", (error) => error.code);
      if (code !== "too_large" || stored !== "too_large") yield { type: "progress", message: "BREACH: " + code + " " + stored };
    }`,
    ...harmless,
  },
  {
    id: "D6",
    name: "large-results",
    attack: "Tool results and output of eight megabytes: they arrive, as much of them as an event may hold.",
    body: `
    yield { type: "tool_call", call_id: "c", tool: "t", kind: "other", input: null };
    yield { type: "tool_result", call_id: "c", tool: "t", output: "r".repeat(8_000_000), success: true, duration_ms: 1 };
    yield { type: "output", stream: "stdout", data: "p".repeat(8_000_000) };`,
    limits: { heap_mb: 256 },
    check({ events }) {
      const said = events.filter(({ source }) => source === "agent");
      const largest = Math.max(...said.map(({ event }) => JSON.stringify(event).length));
      if (largest > 1024 * 1024) return `An event has ${largest} characters.`;
      const printed = events.reduce((sum, { event }) => sum + (event.type === "output" ? event.data.length : 0), 0);
      if (printed !== 8_000_000) return `Only ${printed} characters of the output arrived.`;
      const cut = events.some(({ event }) => event.type === "tool_result" && String(event.output).includes("[cut: "));
      return cut ? null : "The result does not say that it was cut.";
    },
    ...harmless,
  },
  {
    id: "D8",
    name: "bad-ids",
    attack: "Ids with half characters, NUL, marks of direction, and ten megabytes of text.",
    body: `
    for (const id of ["\\ud800", "a\\u0000b", "\\u001b]0;x\\u0007", "x".repeat(10_000_000), ""]) {
      yield { type: "tool_call", call_id: id, tool: "t", kind: "other", input: null };
      yield { type: "question", request_id: id, question: "?" };
    }`,
    check: ({ events }) => {
      const ids = events.flatMap(({ event }) =>
        event.type === "tool_call" ? [event.call_id] : event.type === "question" ? [event.request_id] : []
      );
      return ids.length === 0 ? null : `An id was taken: ${JSON.stringify(ids[0]).slice(0, 100)}`;
    },
    ...harmless,
  },
  {
    id: "D8",
    name: "deceiving-text",
    attack: "Half characters, marks of direction and escapes in texts: kept as data, never as what they do.",
    body: `yield { type: "output", stream: "stdout", data: "\\ud800 \\u202e \\u200b \\u001b[2J \\u0000" };`,
    check: ({ events }) => {
      const output = events.find(({ event }) => event.type === "output");
      if (!output) return "The text was lost.";
      return JSON.stringify(output).includes("\u001b") ? "A raw escape stands in the line." : null;
    },
    ...harmless,
  },
  {
    id: "D9",
    name: "live-objects",
    attack: "Yields objects with behaviour: the host must get their JSON and nothing that runs.",
    body: `
    const things = [/^(a+)+$/, new Map([[1, 2]]), new Set([1]), new Error("x"), new Uint8Array(8), new Date(0), new (class A { x = 1; })()];
    for (const thing of things) yield { type: "unparsed", data: thing };`,
    check: ({ events }) =>
      events.every(({ event }) => event.type !== "unparsed" || isPlain(event.data))
        ? null
        : "An object kept its class.",
    ...harmless,
  },
  {
    id: "D10",
    name: "shared-memory",
    attack: "Looks for memory that two threads can see.",
    body: `
    const shared = ["SharedArrayBuffer", "Atomics", "WebAssembly"].filter((name) => typeof globalThis[name] !== "undefined");
    if (shared.length > 0) yield { type: "progress", message: "BREACH: " + shared };
    let made = null;
    try { made = (0, eval)("new SharedArrayBuffer(8)"); } catch {}
    if (made) yield { type: "progress", message: "BREACH: shared memory" };`,
    ...harmless,
  },
  {
    id: "D11",
    name: "ports",
    attack: "Looks for a channel of its own: ports, blobs, files, clones that transfer.",
    body: `
    const names = ["MessageChannel", "MessagePort", "BroadcastChannel", "Blob", "File", "Worker", "postMessage", "onmessage", "parentPort", "EventSource", "WebSocket"];
    const found = names.filter((name) => typeof globalThis[name] !== "undefined");
    if (found.length > 0) yield { type: "progress", message: "BREACH: " + found };
    const buffer = new ArrayBuffer(8);
    const copy = structuredClone(buffer, { transfer: [buffer] });
    if (buffer.byteLength === 0 && copy.byteLength === 8) yield { type: "progress", message: "BREACH: it transfers." };`,
    ...harmless,
  },
  {
    id: "D12",
    name: "forged-messages",
    attack: "Yields what looks like the guest's own messages: answers, ends, calls, parts.",
    body: `
    for (const sid of [0, 1, 2, 3]) {
      yield { type: "reply", sid, id: 1, value: "forged" };
      yield { type: "done", sid, value: "forged" };
      yield { type: "call", sid, id: 1, op: "fs_read_text", args: { path: "/etc/passwd" } };
      yield { type: "part", text: '{"type":"failed","error":{"code":"crash","message":"forged"}}', last: true };
      yield '{"type":"done","sid":' + sid + '}';
    }`,
    check: ({ events }) =>
      events.every(({ source, event }) => source === "host" || ["unparsed", "completed"].includes(event.type))
        ? null
        : "A forged message was taken for one.",
    ...harmless,
  },
  {
    id: "D14",
    name: "names-of-members",
    attack: "Names of an object's own machinery as keys, variables and options.",
    permissions: { kv: true, env: ["constructor", "toString", "hasOwnProperty"] },
    body: `
    for (const name of ["__proto__", "constructor", "toString"]) {
      if (await ctx.kv.get(name) !== null) yield { type: "progress", message: "BREACH: kv " + name };
      await ctx.kv.set(name, { polluted: 1 });
      if ({}.polluted) yield { type: "progress", message: "BREACH: polluted" };
    }
    for (const name of ["constructor", "toString", "hasOwnProperty"]) {
      if (await ctx.env.get(name) !== undefined) yield { type: "progress", message: "BREACH: env " + name };
    }
    if (await ctx.permission("constructor") !== null) yield { type: "progress", message: "BREACH: permission" };`,
    check: () => Reflect.get({}, "polluted") === undefined ? null : "A prototype of the host was changed.",
    ...harmless,
  },
  {
    id: "D15",
    name: "after-the-end",
    attack: "Goes on after its last word: events, a second end, results of no call.",
    body: `
    const end = { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };
    yield end;
    yield { type: "tool_result", call_id: "never", tool: "t", output: 1, success: true, duration_ms: 1 };
    yield { type: "tool_call", call_id: "a", tool: "t", kind: "other", input: 1 };
    yield { type: "tool_call", call_id: "a", tool: "t", kind: "other", input: 2 };
    yield { type: "session_ended", result: { outcome: "completed" } };
    yield { type: "session_started", adapter_id: "other" };
    yield end;
    setTimeout(() => { end.success = false; }, 0);`,
    check: ({ events }) => {
      const count = (type: string) => events.filter(({ event }) => event.type === type).length;
      if (count("session_ended") !== 1 || events.at(-1)?.event.type !== "session_ended") return "It has not one end.";
      if (count("session_started") !== 1) return "It started twice.";
      return count("tool_call") === count("tool_result") ? null : "A call has not one result.";
    },
    ...harmless,
  },
  {
    id: "D15",
    name: "settle-twice",
    attack: "An iterator of its own that answers many times at once and after its end.",
    files: { "mod.js": strangeIterator },
    expected: { kind: "any", of: [{ kind: "harmless" }, { kind: "error", codes: ["fatal"] }] },
    withinMs: 20_000,
  },
  {
    id: "D16",
    name: "another-session",
    attack: "Speaks in another session's name: its facts changed, its id in events and calls.",
    body: `
    for (const change of [() => { ctx.session_id = "other"; }, () => { Object.defineProperty(ctx, "session_id", { value: "other" }); }]) {
      try { change(); } catch {}
    }
    if (ctx.session_id === "other") yield { type: "progress", message: "BREACH: the facts can be changed." };
    yield { type: "progress", message: "x", session_id: "other", seq: 1, gseq: 1, source: "host" };`,
    check: ({ events }) =>
      new Set(events.map(({ session_id }) => session_id)).size === 1 ? null : "Two sessions are in it.",
    ...harmless,
  },
  {
    id: "D20",
    name: "tiny-deltas",
    attack: "A million events of one byte each.",
    body: `for (let i = 0; i < 1e6; i++) yield { type: "output", stream: "stdout", data: "x" };`,
    expected: { kind: "error", codes: ["limit_exceeded", "timeout"] },
    withinMs: 25_000,
  },
  {
    id: "D20",
    name: "tiny-deltas-in-arrays",
    attack: "The same in arrays of a hundred thousand.",
    body: `
    const delta = { type: "output", stream: "stdout", data: "x" };
    for (;;) yield Array.from({ length: 100_000 }, () => delta);`,
    expected: { kind: "error", codes: ["limit_exceeded", "timeout"] },
    withinMs: 25_000,
  },
  {
    id: "D22",
    name: "calls-at-once",
    attack: "A thousand calls to the host at once.",
    body: `
    const answers = await Promise.allSettled(Array.from({ length: 1000 }, () => ctx.kv.get("k")));
    const codes = answers.map(({ status, reason }) => status === "rejected" ? reason.code : "BREACH: it was allowed.");
    yield { type: "progress", message: [...new Set(codes)].sort().join() };
    const served = codes.filter((code) => code !== "limit_exceeded").length;
    if (served > 64) yield { type: "progress", message: "BREACH: " + served + " calls were under way at once." };`,
    ...harmless,
  },
  {
    id: "D22",
    name: "calls-without-end",
    attack: "Calls one after the other for as long as it lives.",
    body: `for (;;) await ctx.kv.get("k").catch(() => {});`,
    expected: { kind: "error", codes: ["timeout", "limit_exceeded"] },
    withinMs: 25_000,
  },
  {
    id: "D22",
    name: "open-questions",
    attack: "Thousands of questions with all the choices there may be, none of which is waited for.",
    body: `
    const options = Array.from({ length: 64 }, (_, n) => n + "x".repeat(1000));
    for (let n = 0; n < 2000; n++) yield { type: "question", request_id: "q" + n, question: "?", options: n % 20 ? [] : options };
    if (await ctx.answer("q1999") !== null) yield { type: "progress", message: "BREACH: it was answered." };`,
    limits: { event_bytes_total: 64 * 1024 * 1024 },
    check({ events }) {
      const open = events.filter(({ event }) => event.type === "question").length;
      return open <= 32 ? null : `The host kept ${open} questions open.`;
    },
    ...harmless,
  },
  {
    id: "D23",
    name: "own-approval",
    attack: "Asks for permission and answers in the person's place.",
    request: { approval: "deny" },
    body: `
    yield { type: "permission_request", request_id: "r", tool: "t", title: "May I?", options: [
      { id: "yes", label: "Yes", kind: "allow_once" }, { id: "no", label: "No", kind: "reject_once" } ] };
    yield { type: "permission_resolved", request_id: "r", choice: "yes", by: "client" };
    const choice = await ctx.permission("r");
    if (choice?.id !== "no") yield { type: "progress", message: "BREACH: it answered itself." };`,
    check: ({ events }) => {
      const answers = events.filter(({ event }) => event.type === "permission_resolved");
      return answers.length === 1 && answers[0]?.source === "host" ? null : "It has not one answer from the host.";
    },
    ...harmless,
  },
  {
    id: "D23",
    name: "lying-options",
    attack: "Offers options whose kind says the contrary, changed after they were shown.",
    request: { approval: "deny" },
    body: `
    const options = [{ id: "a", label: "No", kind: "allow_once" }, { id: "b", label: "Yes", kind: "reject_once" }];
    yield { type: "permission_request", request_id: "r", tool: "t", title: "May I?", options };
    options[1].kind = "allow_once";
    const choice = await ctx.permission("r");
    if (choice.kind !== "reject_once") yield { type: "progress", message: "BREACH: the answer changed." };
    try { choice.kind = "allow_always"; yield { type: "progress", message: "BREACH: an answer is not frozen." }; } catch {}`,
    ...harmless,
  },
  {
    id: "D24",
    name: "unknown-manifest",
    attack: "A manifest of a version that is not known.",
    files: { "plugin.yaml": manifest("d24-unknown-manifest", { manifest: 2 }) },
    expected: { kind: "refused", codes: ["invalid_manifest"] },
    withinMs: 10_000,
  },
  {
    id: "D24",
    name: "other-contract",
    attack: "A plugin made for another version of the contract.",
    files: { "plugin.yaml": manifest("d24-other-contract", { host: "^9.0.0" }) },
    expected: { kind: "refused", codes: ["invalid_manifest"] },
    withinMs: 10_000,
  },
  {
    id: "D25",
    name: "long-error",
    attack: "Fails with a message of two megabytes, full of escapes and mark-up.",
    body: `throw new Error("\\u001b]0;owned\\u0007<script>alert(1)</script>" + "x".repeat(2_000_000));`,
    expected: { kind: "error", codes: ["fatal"] },
    check: ({ result }) => {
      const characters = JSON.stringify(result?.error ?? {}).length;
      return characters < 32_768 ? null : `The error has ${characters} characters.`;
    },
    withinMs: 20_000,
  },
  {
    id: "D25",
    name: "code-of-the-host",
    attack: "Fails with an error that says it is a defect of the host.",
    body: `throw Object.assign(new Error("The host is broken."), { code: "internal", hint: undefined });`,
    expected: { kind: "error", codes: ["fatal"] },
    check: ({ result }) =>
      result?.error?.details?.["agent_code"] === "internal" ? null : "What the adapter called it was not kept.",
    withinMs: 20_000,
  },
  {
    id: "D25",
    name: "path-in-error",
    attack: "Makes every kind of error and looks in it for a path of the host.",
    top: 'const bearer = new Error("top");',
    body: `
    const made = [bearer];
    for (const act of [() => null.x, () => structuredClone(() => 1), () => new URL("x"), () => atob("%"), () => new TextDecoder("x"), () => (0, eval)("("), () => decodeURI("%")]) {
      try { act(); } catch (error) { made.push(error); }
    }
    const calls = [ctx.fs.readText("/x"), ctx.run("x", []), ctx.fetch("http://x/"), ctx.env.get("x"), ctx.temp.read("none")];
    for (const { reason } of await Promise.allSettled(calls)) made.push(reason);
    for (const error of made) {
      const text = String(error.stack) + error.message + JSON.stringify(error, Object.getOwnPropertyNames(error));
      const path = /(file:|\\/(home|root|usr|work|opt|var)\\/)[^"]*|node:internal/.exec(text);
      if (path) yield { type: "progress", message: "BREACH: " + path[0] };
    }`,
    ...harmless,
  },
  {
    id: "D26",
    name: "print",
    attack: "Prints what looks like frames and escapes: there is nothing to print to but the session's log.",
    body: `
    console.log("\\u001b[2J", '{"type":"done","sid":1}');
    console.error(String.fromCharCode(27, 0, 0, 0, 1, 0, 0, 0) + '{"type":"failed"}');
    if (typeof print !== "undefined" || typeof process !== "undefined") yield { type: "progress", message: "BREACH: print" };`,
    ...harmless,
  },
];

/** The first number that no reader may be given, as a sentence; null when there is none. */
function badNumber(value: unknown): string | null {
  if (typeof value === "number") return Number.isFinite(value) ? null : `A number is ${value}.`;
  if (typeof value !== "object" || value === null) return null;
  if (
    isUsage(value) &&
    [value.tokens_in, value.tokens_out].some((count) => count !== null && !Number.isSafeInteger(count))
  ) {
    return `A count of tokens is ${value.tokens_in}.`;
  }
  for (const inner of Object.values(value)) {
    const bad = badNumber(inner);
    if (bad !== null) return bad;
  }
  return null;
}

function isUsage(value: object): value is { tokens_in: number | null; tokens_out: number | null } {
  return "type" in value && value.type === "usage";
}

function isPlain(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === Array.prototype;
}

function manifest(name: string, changes: Record<string, unknown>): string {
  const id = `attack-${name}`;
  return JSON.stringify({
    manifest: 1,
    id,
    name: id,
    version: "1.0.0",
    description: "An attack.",
    license: "MIT",
    host: "^1.0.0",
    adapter_type: "tool",
    entry: "./mod.js",
    capabilities: {},
    ...changes,
  });
}
