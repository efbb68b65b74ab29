import { cp, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readManifest } from "../../core/packages/manifest/read-manifest.ts";
import { storeSecret } from "../../core/walls/secrets/store.ts";
import { type LoopbackServer, serve } from "../walls/broker/loopback-server.ts";
import { closeHosts, openHost, type TestHost, until } from "../sessions/host/test-host.ts";

const id = "openai-compatible";
const key = "sk-test-0123456789abcdefghij";
const folder = fileURLToPath(new URL(`../../plugins/${id}/`, import.meta.url));

let root = "";
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-host-")));
});
afterEach(async () => {
  await closeHosts();
  await rm(root, { recursive: true, force: true });
});

interface Bench extends TestHost {
  server: LoopbackServer;
  bodies: string[];
  /** Requests whose client went away before their answer was whole. */
  dropped: number;
}

/** The plugin as it is, but for the ports in its manifest, with a grant of exactly what that asks for. */
async function open(config: Record<string, unknown> = { mode: "api" }): Promise<Bench> {
  const bodies: string[] = [];
  const server = await serve((request, response) => {
    response.on("close", () => void (response.writableFinished || bench.dropped++));
    void answer(request, response, bodies);
  });
  const here = `127.0.0.1:${server.port}`;
  const copy = join(root, "packages", id);
  await cp(folder, copy, { recursive: true });
  const manifest = await readFile(join(copy, "plugin.yaml"), "utf8");
  await writeFile(
    join(copy, "plugin.yaml"),
    manifest.replaceAll("https://api.openai.com", `http://${here}`).replaceAll("api.openai.com:443", here)
      .replaceAll("localhost:11434", here),
  );
  const secretsFile = join(root, "secrets", "secrets.json");
  await storeSecret(secretsFile, { name: "OPENAI_API_KEY", value: key });
  const host = await openHost({ root, secretsFile });
  await host.host.registry.register(copy, { grant: (await readManifest(copy)).permissions ?? {}, config });
  const bench: Bench = { ...host, server, bodies, dropped: 0 };
  return bench;
}

const chunk = (delta: object, finish_reason: string | null = null) =>
  `data: ${JSON.stringify({ object: "chat.completion.chunk", model: "m-1", choices: [{ delta, finish_reason }] })}\n\n`;
const usage = `data: ${
  JSON.stringify({ choices: [], usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 } })
}\n\n`;
const done = "data: [DONE]\n\n";
const long = "The quick brown fox jumps over the lazy dog. ".repeat(4552).slice(0, 204_800);

const streams: Record<string, string> = {
  data: chunk({ content: '{"names":' }) + chunk({ content: '["Ada"]}' }, "stop") + done,
  ok:
    [chunk({ role: "assistant", content: "" }), chunk({ content: "Hel" }), ": keep-alive\n\n", chunk({ content: "lo" })]
      .join("") + chunk({}, "stop") + usage + done,
  bare: (chunk({ content: "Hel" }) + chunk({ content: "lo" }, "stop")).replaceAll("\n", "\r\n"),
  thinking: chunk({ reasoning_content: "Let me " }) + chunk({ reasoning_content: "see." }) +
    chunk({ content: "42" }, "stop"),
  malformed: chunk({ content: "a" }) + "data: {not json\n\n" + done,
  cut: chunk({ content: "half" }) + 'data: {"choices":[{"del',
  filtered: chunk({ content: "a" }, "content_filter") + done,
  short: chunk({ content: "a" }, "length") + done,
  echo: `data: {"error":{"message":"Bad key ${key}","code":"invalid_api_key"}}\n\n`,
  plain: JSON.stringify({ error: { message: "Slow down, retry-after: 7", type: "rate_limit_error" } }),
  page: "<html>Sign in</html>",
  long: (long.match(/.{1,640}/g) ?? []).map((content) => chunk({ content })).join("") + chunk({}, "stop") + done,
};
const refusals: Record<string, [status: number, error: object, headers?: Record<string, string>]> = {
  "401": [401, { message: `Incorrect API key provided: ${key}`, code: "invalid_api_key" }],
  "429-after": [429, { message: "Rate limit reached" }, { "retry-after": "7" }],
  "429": [429, { message: "Rate limit reached" }],
  "500": [500, { message: "The server had an error", type: "server_error" }],
  overflow: [400, { message: "This model's maximum context length is 8", code: "context_length_exceeded" }],
};

/** The scenario is the model that is asked for. */
async function answer(request: IncomingMessage, response: ServerResponse, bodies: string[]): Promise<void> {
  let text = "";
  for await (const piece of request) text += String(piece);
  if (request.url === "/v1/models") return void response.end('{"object":"list","data":[]}');
  bodies.push(text);
  const { model } = JSON.parse(text) as { model: string };
  const [status, error, headers] = refusals[model] ?? [];
  if (status !== undefined) {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    return void response.end(JSON.stringify({ error }));
  }
  if (model === "whole") {
    response.writeHead(200, { "content-type": "application/json; charset=utf-8" });
    return void response.end('{"model":"m-1","choices":[{"message":{"content":"Hello"},"finish_reason":"stop"}]}');
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  if (model === "endless") return void response.write(chunk({ content: "on and " }));
  if (model === "reset") {
    response.write(chunk({ content: "half" }));
    return void setTimeout(() => response.destroy(), 50);
  }
  response.end(streams[model]);
}

/** Neighbours joined; what only informs is left out. */
function kinds(events: { event: { type: string } }[]): string[] {
  const shown = events.map(({ event }) => event.type).filter((type) =>
    ["output", "thinking", "rate_limit", "unparsed", "completed", "error"].includes(type)
  );
  return shown.filter((type, at) => type !== shown[at - 1]);
}

/** All that the host keeps and tells holds no key. */
async function expectNoKey(bench: Bench, told: unknown): Promise<void> {
  const names = await readdir(bench.stateDir, { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const kept = await Promise.all(files.map((file) => readFile(file, "latin1").catch(() => "")));
  expect(JSON.stringify([told, bench.logs])).not.toContain(key);
  expect(kept.join("\n")).not.toContain(key);
}

test.each([
  ["ok", "end_turn", "Hello", ["output", "completed"]],
  ["bare", "end_turn", "Hello", ["output", "completed"]],
  ["whole", "end_turn", "Hello", ["output", "completed"]],
  ["thinking", "end_turn", "42", ["thinking", "output", "completed"]],
  ["401", "unavailable", "", ["error"]],
  ["429-after", "rate_limit", "", ["rate_limit", "error"]],
  ["429", "rate_limit", "", ["rate_limit", "error"]],
  ["500", "unavailable", "", ["error"]],
  ["overflow", "fatal", "", ["error"]],
  ["malformed", "fatal", "a", ["output", "unparsed", "error"]],
  ["cut", "crash", "half", ["output", "error"]],
  ["reset", "crash", "half", ["output", "error"]],
  ["filtered", "refused", "a", ["output", "error"]],
  ["short", "fatal", "a", ["output", "error"]],
  ["echo", "unavailable", "", ["error"]],
  ["plain", "rate_limit", "", ["rate_limit", "error"]],
  ["page", "fatal", "", ["unparsed", "error"]],
  ["long", "end_turn", long, ["output", "completed"]],
])("a server that does %s ends as %s, and the key is nowhere", async (model, stop_reason, output, order) => {
  const bench = await open();
  const { events, result } = await bench.run(id, { model });
  expect(result).toMatchObject({ stop_reason, output });
  expect(kinds(events)).toEqual(order);
  expect(bench.server.requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${key}`]);
  await expectNoKey(bench, [events, result]);
});

test("sends the system prompt, streams, asks for usage, and holds a budget of tokens", async () => {
  const bench = await open({
    mode: "api",
    max_tokens: 500,
    input_per_1k_tokens: 1,
    output_per_1k_tokens: 2,
    model: "ok",
  });
  const { result } = await bench.run(id, { system_prompt: "Be brief.", budget: { tokens: 50 }, effort: "minimal" });
  expect(JSON.parse(bench.bodies[0] ?? "")).toEqual({
    reasoning_effort: "minimal",
    model: "ok",
    messages: [{ role: "system", content: "Be brief." }, { role: "user", content: "go" }],
    stream: true,
    stream_options: { include_usage: true },
    max_completion_tokens: 50,
  });
  expect(result.usage).toMatchObject({
    tokens_in: 12,
    tokens_out: 3,
    tokens_cached: 0,
    cost: 0.018,
    currency: "USD",
    model: "m-1",
    scope: "session",
    basis: "reported",
  });
});

test("tells the wait of a rate limit", async () => {
  const bench = await open();
  const waits = async (model: string) =>
    (await bench.run(id, { model })).events.flatMap(({ event }) => event.type === "rate_limit" ? [event.wait_ms] : []);
  expect(await waits("429-after")).toEqual([7000]);
  expect(await waits("429")).toEqual([null]);
});

test("a local server gets no key and costs nothing", async () => {
  const bench = await open({ mode: "local", local_model: "ok", max_tokens: 9 });
  const { result } = await bench.run(id);
  expect(result).toMatchObject({ output: "Hello", usage: { cost: 0 } });
  expect(JSON.parse(bench.bodies[0] ?? "")).toMatchObject({ max_tokens: 9 });
  expect(bench.server.requests[0]?.headers.authorization).toBe(undefined);
});

test("an interrupt ends an endless answer and its request", async () => {
  const bench = await open();
  const session = await bench.host.runSession({
    workdir: bench.workdir,
    prompt: "go",
    model: "endless",
    retry: "never",
  }, {
    adapter: id,
    artifacts: "none",
  });
  for await (const { event } of session.events()) if (event.type === "output") void session.interrupt();
  expect(await session.result()).toMatchObject({ stop_reason: "interrupted", output: "on and " });
  await until(() => bench.dropped === 1);
});

test("a probe asks for the models, with the key", async () => {
  const bench = await open();
  expect(await bench.host.probe(id)).toMatchObject({ availability: "available" });
  expect(bench.server.requests.map(({ url, headers }) => [url, headers.authorization])).toEqual([
    ["/v1/models", `Bearer ${key}`],
  ]);
});

test("a server that is not there is unavailable", async () => {
  const bench = await open();
  await bench.server.close();
  const { result } = await bench.run(id, { model: "ok" });
  expect(result.stop_reason).toBe("unavailable");
  expect(await bench.host.probe(id)).toMatchObject({ availability: "missing" });
});

test("openai-compatible takes a budget of money only where the operator names a price", async () => {
  const without = await open({ mode: "auto" });
  const run = (made: Bench) =>
    made.host.runSession({ workdir: made.workdir, prompt: "[[ok]]", budget: { cost: 1 } }, { adapter: id });
  await expect(run(without)).rejects.toMatchObject({
    code: "unenforceable",
    message: expect.stringContaining("its model has no known price"),
    hint: expect.stringContaining("input_per_1k_tokens"),
    details: { fields: ["budget.cost"] },
  });
  expect(without.bodies).toEqual([]);
});

test("openai-compatible holds a budget of money by the prices that the operator names", async () => {
  const bench = await open({ mode: "api", model: "ok", input_per_1k_tokens: 1000, output_per_1k_tokens: 1000 });
  const { result } = await bench.run(id, { model: "ok", budget: { cost: 1 } });
  expect(result).toMatchObject({
    usage: { cost: 15 },
    effective: { budget: { cost: 1 }, budget_basis: "wire", unenforced: [] },
  });
});

test("a schema of objects that can be closed holds the model, and for any other one the prompt asks", async () => {
  const bench = await open();
  const schema = { type: "object", properties: { names: { type: "array", title: "N" } }, required: ["names"] };
  const closed = {
    type: "object",
    properties: { names: { type: "array" } },
    required: ["names"],
    additionalProperties: false,
  };
  const ask = (output_schema: Record<string, unknown>) =>
    bench.run(id, { model: "data", output_schema, retry: "never" });
  const held = await ask(schema);
  expect(held.result).toMatchObject({
    structured_output: { names: ["Ada"] },
    effective: { output_schema: "enforced" },
  });
  expect(JSON.parse(bench.bodies[0] ?? "")).toMatchObject({
    messages: [{ content: "go" }],
    response_format: { type: "json_schema", json_schema: { schema: closed, strict: true } },
  });
  const openMap = { type: "object", additionalProperties: { type: "array" } };
  expect((await ask(openMap)).result).toMatchObject({
    structured_output: { names: ["Ada"] },
    effective: { output_schema: "asked" },
  });
  expect(bench.bodies[1]).toContain("that fits this JSON Schema");
  expect(bench.bodies[1]).not.toContain("json_schema");
  await bench.run(id, { model: "gpt-4-turbo", output_schema: schema, retry: "never" });
  expect(bench.bodies[2]).not.toContain("json_schema");
});
