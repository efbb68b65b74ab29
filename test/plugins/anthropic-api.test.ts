import { cp, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { RateLimitDetector } from "bulkhead/plugin-sdk";
import { afterEach, beforeEach, expect, test } from "vitest";
import { failureEvents, failureKind } from "../../plugins/anthropic-api/failures.ts";
import { SseReader } from "../../plugin-sdk/sse-reader.ts";
import { readManifest } from "../../core/packages/manifest/read-manifest.ts";
import { storeSecret } from "../../core/walls/secrets/store.ts";
import { type LoopbackServer, serve } from "../walls/broker/loopback-server.ts";
import { closeHosts, openHost, type TestHost, until } from "../sessions/host/test-host.ts";

const id = "anthropic-api";
const key = "sk-ant-0123456789abcdefghij";
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

/** The plugin as it is, but for the address in its manifest, with a grant of exactly what that asks for. */
async function open(config: Record<string, unknown> = {}, models = '{"data":[]}'): Promise<Bench> {
  const bodies: string[] = [];
  const server = await serve((request, response) => {
    response.on("close", () => void (response.writableFinished || bench.dropped++));
    void answer(request, response, { bodies, models });
  });
  const here = `127.0.0.1:${server.port}`;
  const copy = join(root, "packages", id);
  await cp(folder, copy, { recursive: true });
  const manifest = await readFile(join(copy, "plugin.yaml"), "utf8");
  await writeFile(
    join(copy, "plugin.yaml"),
    manifest.replaceAll("https://api.anthropic.com", `http://${here}`).replaceAll("api.anthropic.com:443", here),
  );
  const secretsFile = join(root, "secrets", "secrets.json");
  await storeSecret(secretsFile, { name: "ANTHROPIC_API_KEY", value: key });
  const host = await openHost({ root, secretsFile });
  await host.host.registry.register(copy, { grant: (await readManifest(copy)).permissions ?? {}, config });
  const bench: Bench = { ...host, server, bodies, dropped: 0 };
  return bench;
}

const event = (data: { type: string; [key: string]: unknown }) =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
const usage = { input_tokens: 10, cache_read_input_tokens: 5, cache_creation_input_tokens: 1, output_tokens: 1 };
const start = event({ type: "message_start", message: { model: "claude-sonnet-4-5", usage } }) +
  event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }) +
  event({ type: "ping" });
const delta = (part: object) => event({ type: "content_block_delta", index: 0, delta: part });
const text = (data: string) => delta({ type: "text_delta", text: data });
const stop = (stop_reason: string) =>
  event({ type: "content_block_stop", index: 0 }) +
  event({ type: "message_delta", delta: { stop_reason }, usage: { output_tokens: 20 } }) +
  event({ type: "message_stop" });
const error = (type: string, message: string) => event({ type: "error", error: { type, message } });
const long = "The quick brown fox jumps over the lazy dog. ".repeat(4552).slice(0, 204_800);

const streams: Record<string, string> = {
  data: start + text('{"names":') + text('["Ada"]}') + stop("end_turn"),
  ok: start + text("Hel") + text("lo") + stop("end_turn"),
  thinking: start + delta({ type: "thinking_delta", thinking: "Let me see." }) +
    delta({ type: "signature_delta", signature: "x" }) + text("42") + stop("end_turn"),
  unknown: start + event({ type: "novelty" }) + text("a") + stop("end_turn"),
  malformed: start + text("a") + "data: {not json\n\n",
  cut: start + text("half") + 'event: content_block_delta\ndata: {"type":"conte',
  refusal: start + text("a") + stop("refusal"),
  short: start + text("a") + stop("max_tokens"),
  full: start + text("a") + stop("model_context_window_exceeded"),
  overloaded: start + text("a") + error("overloaded_error", "Overloaded"),
  echo: start + error("authentication_error", `Bad key ${key}`),
  plain: JSON.stringify({ type: "error", error: { type: "authentication_error", message: "Bad key" } }),
  page: "<html>Sign in</html>",
  long: start + (long.match(/.{1,640}/g) ?? []).map(text).join("") + stop("end_turn"),
};
const refusals: Record<string, [status: number, type: string, message: string, headers?: Record<string, string>]> = {
  "401": [401, "authentication_error", `invalid x-api-key ${key}`],
  "429-after": [429, "rate_limit_error", "Too many", { "retry-after": "7" }],
  "429": [429, "rate_limit_error", "Too many"],
  "500": [500, "api_error", "Internal server error"],
  "529": [529, "overloaded_error", "Overloaded"],
  overflow: [400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"],
};

/** The scenario is the model that is asked for. */
async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { bodies, models }: { bodies: string[]; models: string },
): Promise<void> {
  let body = "";
  for await (const piece of request) body += String(piece);
  if (request.url === "/v1/models") return void response.end(models);
  bodies.push(body);
  const { model } = JSON.parse(body) as { model: string };
  const [status, type, message, headers] = refusals[model] ?? [];
  if (status !== undefined) {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    return void response.end(JSON.stringify({ type: "error", error: { type, message } }));
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  if (model === "endless") return void response.write(start + text("on and "));
  response.end(streams[model] ?? streams["ok"]);
}

/** Neighbours joined; what only informs is left out. */
function kinds(events: { event: { type: string } }[]): string[] {
  const shown = events.map(({ event }) => event.type).filter((type) =>
    ["output", "thinking", "rate_limit", "unparsed", "completed", "error"].includes(type)
  );
  return shown.filter((type, at) => type !== shown[at - 1]);
}

test.each([
  ["ok", "end_turn", "Hello", ["output", "completed"]],
  ["thinking", "end_turn", "42", ["thinking", "output", "completed"]],
  ["unknown", "end_turn", "a", ["unparsed", "output", "completed"]],
  ["401", "unavailable", "", ["error"]],
  ["429-after", "rate_limit", "", ["rate_limit", "error"]],
  ["429", "rate_limit", "", ["rate_limit", "error"]],
  ["500", "unavailable", "", ["error"]],
  ["529", "unavailable", "", ["error"]],
  ["overflow", "fatal", "", ["error"]],
  ["malformed", "fatal", "a", ["output", "unparsed", "error"]],
  ["cut", "crash", "half", ["output", "error"]],
  ["refusal", "refused", "a", ["output", "error"]],
  ["short", "fatal", "a", ["output", "error"]],
  ["full", "fatal", "a", ["output", "error"]],
  ["overloaded", "unavailable", "a", ["output", "error"]],
  ["echo", "unavailable", "", ["error"]],
  ["plain", "unavailable", "", ["error"]],
  ["page", "fatal", "", ["unparsed", "error"]],
  ["long", "end_turn", long, ["output", "completed"]],
  ["long", "end_turn", long, ["output", "completed"]],
])("an API that does %s ends as %s, and the key is nowhere", async (model, stop_reason, output, order) => {
  const bench = await open();
  const { events, result } = await bench.run(id, { model });
  expect(result).toMatchObject({ stop_reason, output });
  expect(kinds(events)).toEqual(order);
  expect(bench.server.requests.map(({ headers }) => headers["x-api-key"])).toEqual([key]);
  const names = await readdir(bench.stateDir, { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const kept = await Promise.all(files.map((file) => readFile(file, "latin1").catch(() => "")));
  expect(JSON.stringify([events, result, bench.logs, kept])).not.toContain(key);
});

test("sends what was asked for, and tells usage with the cost of the access mode's model", async () => {
  const bench = await open({ max_tokens: 5000, thinking_tokens: 1024 });
  const { result } = await bench.run(id, { system_prompt: "Be brief.", budget: { tokens: 4000 } });
  expect(JSON.parse(bench.bodies[0] ?? "")).toEqual({
    model: "claude-sonnet-4-5",
    max_tokens: 4000,
    stream: true,
    system: "Be brief.",
    messages: [{ role: "user", content: "go" }],
    thinking: { type: "enabled", budget_tokens: 1024 },
  });
  expect(result.usage).toMatchObject({
    tokens_in: 16,
    tokens_out: 20,
    tokens_cached: 5,
    cost: 0.0003345,
    scope: "session",
  });
});

test("an interrupt ends an endless answer and its request", async () => {
  const bench = await open();
  const session = await bench.host.runSession(
    { workdir: bench.workdir, prompt: "go", model: "endless", retry: "never" },
    { adapter: id, artifacts: "none" },
  );
  for await (const { event } of session.events()) if (event.type === "output") void session.interrupt();
  expect(await session.result()).toMatchObject({ stop_reason: "interrupted", output: "on and " });
  await until(() => bench.dropped === 1);
});

test("a probe that is answered by something else says so", async () => {
  const bench = await open({}, "<html>Sign in</html>");
  expect(await bench.host.probe(id)).toMatchObject({ availability: "incompatible" });
});

test("a probe asks for the models, and says when nothing answers", async () => {
  const bench = await open();
  expect(await bench.host.probe(id)).toMatchObject({ availability: "available" });
  expect(bench.server.requests.map(({ url }) => url)).toEqual(["/v1/models"]);
  await bench.server.close();
  expect(await bench.host.probe(id)).toMatchObject({ availability: "missing" });
});

test.each([
  [{ "retry-after": "7" }, 7000],
  [{ "anthropic-ratelimit-requests-reset": "2026-01-01T00:00:30Z" }, 30_000],
  [{
    "anthropic-ratelimit-requests-reset": "2026-01-01T00:00:30Z",
    "anthropic-ratelimit-requests-remaining": "3",
    "anthropic-ratelimit-tokens-reset": "2026-01-01T00:00:09Z",
    "anthropic-ratelimit-tokens-remaining": "0",
  }, 9000],
  [{}, null],
])("a 429 with %j waits %s ms", (headers, wait_ms) => {
  const detector = new RateLimitDetector([], { now: () => Date.UTC(2026, 0, 1) });
  expect(failureEvents({ status: 429, headers: { ...headers }, body: "" }, detector)[0]).toMatchObject({ wait_ms });
});

test.each([
  [400, "Your credit balance is too low", "quota_exhausted"],
  [404, "model: nope", "invalid_model"],
  [413, "", "context_overflow"],
  [400, "max_tokens: too large", "fatal"],
])("a %i with %j is %s", (status, message, kind) => {
  const body = JSON.stringify({ type: "error", error: { type: "invalid_request_error", message } });
  expect(failureKind({ status, headers: {}, body })).toBe(kind);
});

test("the stream's reader gives the same events however the text is cut", () => {
  const whole = streams["ok"]!.replaceAll("\n", "\r\n");
  const read = (pieces: string[]) => {
    const reader = new SseReader();
    return [...pieces.flatMap((piece) => reader.take(piece)), ...reader.end()];
  };
  const events = read([whole]);
  expect(events).toHaveLength(8);
  for (let at = 0; at <= whole.length; at++) expect(read([whole.slice(0, at), whole.slice(at)])).toEqual(events);
  expect(read(whole.split(""))).toEqual(events);
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
    output_config: { format: { type: "json_schema", schema: closed } },
  });
  const openMap = { type: "object", additionalProperties: { type: "array" } };
  expect((await ask(openMap)).result).toMatchObject({
    structured_output: { names: ["Ada"] },
    effective: { output_schema: "asked" },
  });
  expect(bench.bodies[1]).toContain("that fits this JSON Schema");
  expect(bench.bodies[1]).not.toContain("json_schema");
  await bench.run(id, { model: "claude-3-5-haiku-20241022", output_schema: schema, retry: "never" });
  expect(bench.bodies[2]).not.toContain("json_schema");
});

test("an effort is the API's own, and for a model that came before it tokens to think with", async () => {
  const bench = await open();
  const ask = async (request: object) => {
    await bench.run(id, { retry: "never", ...request });
    const { output_config, thinking } = JSON.parse(bench.bodies.at(-1) ?? "");
    return { output_config, thinking };
  };
  expect(await ask({ model: "claude-opus-4-6", effort: "minimal" })).toEqual({ output_config: { effort: "low" } });
  expect(await ask({ model: "claude-sonnet-4-5", effort: "high" })).toMatchObject({
    output_config: undefined,
    thinking: { type: "enabled", budget_tokens: expect.any(Number) },
  });
  expect(await ask({ model: "claude-sonnet-4-5", effort: "minimal" })).toEqual({});
});
