import type { Manifest } from "../../../plugin-sdk/manifest.ts";
import { endsSource } from "./ends-source.ts";
import { recorderSource } from "./recorder-source.ts";

/** Before what the kit's own adapter has to say, in the message of a progress event or a log record. */
export const kitMark = "kit:";

/**
 * Source of an adapter that looks at another one from inside the same compartment, under the same permissions: it calls
 * each member and says what came back, pulls slowly, takes programs away, and answers for servers.
 * It does what its prompt orders, as JSON.
 */
export function watchedSource(manifest: Manifest): string {
  const adapter = manifest.cli === undefined
    ? `import * as code from "./code.js";\nconst Adapter = code.default;`
    : manifest.normaliser === undefined
    ? `const Adapter = cliTool(${JSON.stringify(manifest)});`
    : `import normaliser from "./code.js";\nconst Adapter = cliTool(${JSON.stringify(manifest)}, normaliser);`;
  return `import { AgentAdapter, BulkheadError, cliTool, requiredMembers } from "bulkhead/plugin-sdk";
${adapter}
${body}${recorderSource}${endsSource}`;
}

const body = String.raw`
const say = (part, value) => ({ type: "progress", message: "kit:" + JSON.stringify({ part, value }) });
const done = { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };
const thrown = (error) => ({
  name: String(error?.name),
  message: String(error?.message ?? error).slice(0, 500),
  code: typeof error?.code === "string" ? error.code : null,
});

async function returned(act) {
  try {
    const value = await act();
    return { type: value === null ? "null" : typeof value, value };
  } catch (error) {
    return { type: "thrown", thrown: thrown(error) };
  }
}

export default class Watched extends AgentAdapter {
  id = "watched";
  name = "Watched";
  version = "1.0.0";
  capabilities = {};
  accessModes = [];
  #config = null;
  #adapter = null;

  initialize(config) {
    this.#config = config;
  }
  async isAvailable() {
    return { availability: "available", reason: "It is the kit's own." };
  }
  async interrupt() {
    await this.#adapter?.interrupt();
  }
  async shutdown() {
    await this.#adapter?.shutdown();
  }
  async *runSession(request, ctx) {
    // Words of the host, for a schema that the adapter does not take, follow the order.
    const [given, ...words] = request.prompt.split("\n\n");
    const { take, ...order } = JSON.parse(given);
    const own = { ...request, prompt: [order.prompt, ...words].join("\n\n") };
    if (take === "members") yield* this.#members(order, world(ctx, order));
    else if (take === "held") yield* this.#held(own, world(ctx, order));
    else if (take === "missing") yield* this.#missing(own, world(ctx, { ...order, mode: "missing" }));
    else if (take === "fields") yield* this.#fields(own, world(ctx, order));
    else if (take === "talk") yield* toldLate(world(ctx, order), (told) => this.#run(own, told));
    else if (take === "calls") yield* openCalls(world(ctx, order), (noted) => this.#run(own, noted));
    else if (take === "record") yield* this.#record(own, ctx);
    else yield* await this.#run(own, world(ctx, order));
  }
  async #made() {
    this.#adapter = new Adapter();
    await this.#adapter.initialize(this.#config);
    return this.#adapter;
  }
  /** As the host does: the adapter's own name of a model, then the session. */
  async #run(request, ctx, seen = (one) => one) {
    const adapter = await this.#made();
    const named = request.model === undefined ? {} : { model: await adapter.validateModel(request.model) };
    const given = seen({ ...request, ...named });
    return adapter.runSession(given, { ...ctx, turns: turnOf(given, ctx) });
  }
  async *#members({ models, texts }, ctx) {
    const adapter = new Adapter();
    const types = Object.fromEntries(requiredMembers.map((name) => [name, typeof adapter[name]]));
    const calls = {};
    calls.initialize = await returned(() => adapter.initialize(this.#config));
    for (const name of ["getAccessMode", "getCapabilities"]) calls[name] = await returned(() => adapter[name]());
    for (const name of ["isAvailable", "healthCheck"]) calls[name] = await returned(() => adapter[name](ctx));
    const asked = {};
    for (const model of models) asked[model] = await returned(() => adapter.validateModel(model));
    const detected = {};
    calls.getRateLimitDetector = await returned(() => {
      const detector = adapter.getRateLimitDetector();
      for (const text of texts) {
        try {
          detected[text] = { detected: detector.detect(text), wait: detector.extractWaitTime(text) };
        } catch (error) {
          detected[text] = { detected: null, wait: null, thrown: thrown(error).message };
        }
      }
      return null;
    });
    calls.interrupt = await returned(() => adapter.interrupt());
    calls.shutdown = await returned(() => adapter.shutdown());
    const { id, name, version, capabilities, accessModes: access_modes } = adapter;
    yield say("members", { types, id, name, version, capabilities, access_modes, calls, models: asked, detected });
    yield done;
  }
  async *#held(request, ctx) {
    const read = { characters: 0, used: false };
    const counted = (stream) => (async function* () {
      for await (const piece of stream) {
        read.characters += piece.length;
        yield piece;
      }
    })();
    const events = await this.#run(request, {
      ...ctx,
      run: async (...args) => {
        read.used = true;
        const child = await ctx.run(...args);
        return { ...child, stdout: counted(child.stdout), stderr: counted(child.stderr) };
      },
      fetch: async (...args) => {
        read.used = true;
        const { body, ...rest } = await ctx.fetch(...args);
        return { ...rest, body: counted(body) };
      },
      connect: async (...args) => {
        read.used = true;
        const { messages, ...rest } = await ctx.connect(...args);
        return { ...rest, messages: counted(messages) };
      },
    });
    await events.next();
    const taken = read.characters;
    // Until it has come to rest, or read more than any adapter needs: how fast that goes is the machine's affair.
    for (let before = -1; before !== read.characters && read.characters - taken < 600_000;) {
      before = read.characters;
      await ctx.sleep(300);
    }
    yield say("held", read.used ? read.characters - taken : null);
    yield done;
    await events.return();
  }
  async *#missing(request, ctx) {
    const availability = await returned(async () => await (await this.#made()).isAvailable(ctx));
    let last = null;
    let code = null;
    try {
      for await (const yielded of await this.#run(request, ctx)) {
        for (const event of [yielded].flat()) if (["completed", "error"].includes(event?.type)) last = event;
      }
    } catch (error) {
      code = thrown(error).code ?? "none";
    }
    yield say("missing", { availability, last: last?.type ?? null, success: last?.success === true, code });
    yield done;
  }
  async *#fields(request, ctx) {
    const read = new Set();
    const sent = [];
    const watched = (request) =>
      new Proxy(request, {
        get(target, key) {
          read.add(String(key));
          return target[key];
        },
      });
    try {
      const events = await this.#run(request, overheard(ctx, sent), watched);
      for await (const _event of events);
    } catch (error) {
      sent.push(thrown(error).message);
    }
    yield say("fields", { read: [...read], sent: sent.join("\n").slice(0, 200000) });
    yield done;
  }
  async *#record(request, ctx) {
    const heard = { runs: [], answers: [], sockets: 0, cut: false };
    await returned(async () => await (await this.#made()).isAvailable(recorder(ctx, heard, true)));
    let last = done;
    try {
      for await (const yielded of await this.#run(request, recorder(ctx, heard, false))) {
        for (const event of [yielded].flat()) {
          // Nothing may follow its last word.
          if (event?.type === "completed" || event?.type === "error") last = event;
          else yield event;
        }
      }
    } finally {
      const text = JSON.stringify(heard);
      for (let at = 0; at < text.length; at += 60000) yield say("record", text.slice(at, at + 60000));
    }
    yield last;
  }
}

/** The turns of the session, the first with the request that the adapter gets: a look at it is one at the request. */
function turnOf(request, ctx) {
  return (async function* () {
    let isFirst = true;
    for await (const turn of ctx.turns) {
      if (!isFirst) {
        yield turn;
        continue;
      }
      isFirst = false;
      yield {
        ...turn,
        get prompt() {
          return request.prompt;
        },
        get output_schema() {
          return request.output_schema;
        },
      };
    }
  })();
}

/** The session's context, with what goes out of it written down. */
function overheard(ctx, sent) {
  return {
    ...ctx,
    run: async (binary, args, options = {}) => {
      sent.push(JSON.stringify([binary, args, options.env ?? {}]));
      const child = await ctx.run(binary, args, options);
      const write = async (text) => {
        sent.push(text);
        await child.stdin.write(text);
      };
      return { ...child, stdin: { ...child.stdin, write } };
    },
    fetch: async (url, options = {}) => {
      sent.push(url + JSON.stringify(options.headers ?? {}) + (options.body ?? ""));
      return await ctx.fetch(url, options);
    },
    connect: async (url, options = {}) => {
      sent.push(url + JSON.stringify(options.headers ?? {}));
      const connection = await ctx.connect(url, options);
      const send = async (text) => {
        sent.push(text);
        await connection.send(text);
      };
      return { ...connection, send };
    },
  };
}

/** The session's context, with programs and servers taken away or answered for. */
function world(ctx, { mode = "play", session = "", servers = [], missing = false }) {
  const away = mode === "missing";
  return {
    ...ctx,
    run: async (binary, args, options) => {
      if (away) throw new BulkheadError("binary_missing", "Cannot run " + binary + ": no such program was found.");
      return await ctx.run(binary, args, options);
    },
    which: async (program) => away ? null : await ctx.which(program),
    ...(servers.length > 0 || away ? { fetch: answered(ctx, { mode, session, servers }), connect: unanswered(ctx) } : {}),
    ...(servers.length > 0
      ? {
        secrets: {
          use: async (name) => {
            ctx.log.info("kit:" + JSON.stringify({ secret: name }));
            return "secret-of-the-kit";
          },
        },
      }
      : {}),
  };
}

function asked(ctx, url) {
  const host = url.hostname + ":" + (url.port || (/^(https|wss):$/.test(url.protocol) ? "443" : "80"));
  ctx.log.info("kit:" + JSON.stringify({ net: host }));
  return host;
}

/** conformance.yaml has answers to requests, and none that a WebSocket would give. */
function unanswered(ctx) {
  return async (address) => {
    const host = asked(ctx, new URL(address));
    throw new BulkheadError("network_error", "Cannot connect to " + host + ": the kit has no WebSockets.");
  };
}

function answered(ctx, { mode, session, servers }) {
  const stalled = new Set();
  return async (address, { method = "GET", signal } = {}) => {
    const url = new URL(address);
    const host = asked(ctx, url);
    if (mode === "missing") throw new BulkheadError("network_error", "Cannot reach " + host + ".");
    const server = servers.find((one) => one.host === host);
    const answer = server?.answers.find((one) =>
      (one.session ?? session) === session && (one.method ?? method) === method &&
      (one.path ?? url.pathname) === url.pathname && !stalled.has(one)
    );
    if (answer?.stalls_once) {
      stalled.add(answer);
      return made({ status: 200, headers: answer.headers ?? {}, pieces: stalling(answer.body ?? "", signal) });
    }
    if (!answer) throw new BulkheadError("network_error", "conformance.yaml has no answer of " + host + url.pathname + ".");
    return response(answer, answer.probe ? "play" : mode, ctx);
  };
}

function response({ status = 200, headers = {}, body = "" }, mode, ctx) {
  const half = body.slice(0, Math.floor(body.length / 2));
  const of = (code, text, more = {}) => made({ status: code, headers: { ...headers, ...more }, pieces: pieces(text) });
  switch (mode) {
    case "exits":
      return of(500, '{"error":"it failed"}');
    case "garbage":
      return of(200, "%%% garbage-marker {]\n\u0000\u0007\n\n");
    case "half":
      return of(status, half);
    case "hangs":
      return made({ status, headers, pieces: hanging(half, ctx) });
    case "floods":
      return made({ status, headers, pieces: flood() });
    case "dies":
      return made({ status, headers, pieces: dying(half) });
    case "long_line":
      return of(status, ": " + "y".repeat(300000) + " long-line-marker\n\n" + body);
    case "rate_limit":
      return of(429, '{"error":{"message":"Too Many Requests. Please wait 30 seconds."}}', { "retry-after": "30" });
    default:
      return of(status, body);
  }
}

function made({ status, headers, pieces }) {
  const body = { [Symbol.asyncIterator]: () => pieces };
  const text = async () => {
    let whole = "";
    for await (const piece of body) whole += piece;
    return whole;
  };
  const json = async () => JSON.parse(await text());
  return { status, ok: status >= 200 && status < 300, headers, body, text, json };
}

async function* pieces(text) {
  for (let at = 0; at < text.length; at += 4096) yield text.slice(at, at + 4096);
}

async function* hanging(text, ctx) {
  yield* pieces(text);
  await ctx.sleep(600000);
}

async function* stalling(text, signal) {
  yield* pieces(text.slice(0, Math.floor(text.length / 2)));
  await new Promise((_, reject) => {
    const stop = () => reject(signal.reason ?? new BulkheadError("interrupted", "The request was given up."));
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}

async function* dying(text) {
  yield* pieces(text);
  throw new BulkheadError("network_error", "The server closed the connection.");
}

async function* flood() {
  for (let n = 0; n < 1024; n++) yield "flood " + "x".repeat(1017) + "\n";
}
`;
