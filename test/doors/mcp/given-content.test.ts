import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Buffer } from "node:buffer";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createMcpHttp } from "../../../core/doors/mcp/http.ts";
import { sha256Hex } from "../../../core/ground/platform/files/hash.ts";
import { termsSchema } from "../../../core/ground/checks/message-terms.ts";
import { adapterCode, openHost } from "../../sessions/host/test-host.ts";
import { ScriptedHost } from "../../sessions/host/scripted-session-host.ts";
import { tinyPng, tinyPngBase64 } from "../../sessions/host/attachments/tiny-png.ts";
import { openDoor } from "../http/door-fixture.ts";
import { connectOverPipes } from "./mcp-client.ts";

interface Told {
  success: boolean;
  error?: string;
  error_type?: string;
  data: { session_id: string; output: string; turn?: number };
}

const notes = Buffer.from("notes").toString("base64");

/** Says for each turn what it got, with the bytes of its attachments, and the model and options in force. */
const echo = adapterCode(`
    for await (const turn of ctx.turns) {
      const parts = [];
      for (const part of turn.content ?? []) parts.push({ ...part, base64: await ctx.attachments.base64(part.sha256) });
      const said = { prompt: turn.prompt, parts, model: request.model, schema: turn.output_schema };
      yield { type: "output", stream: "stdout", data: JSON.stringify(said) };
      yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };
    }`);

/** A daemon's MCP door with real sessions, and clients with tokens of their own. */
async function openMcp() {
  const made = await openHost();
  await made.add("alpha", { code: echo, manifest: "accepts: [turns, images, files, output_schema]\nmodels: [m1, m2]" });
  const mcp = createMcpHttp();
  const door = await openDoor({ sessions: made.host.sessions, mounts: [{ path: "/mcp", handle: mcp.handle }] });
  onTestFinished(() => mcp.close());
  const connect = async () => {
    const token = await door.token("run");
    const client = new Client({ name: "tester", version: "1.0.0" });
    const headers = { authorization: `Bearer ${token}` };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${door.url}/mcp`), { requestInit: { headers } }));
    onTestFinished(() => client.close());
    return async (name: string, args: object) =>
      (await client.callTool({ name, arguments: { ...args } })).structuredContent as unknown as Told;
  };
  const request = { workdir: made.workdir, adapter: "alpha", artifacts: "none" };
  return { made, connect, request };
}

const heard = ({ data: { output } }: Told) =>
  JSON.parse(output) as { prompt: string; parts: Record<string, string>[]; model?: string; schema?: object };

test("run_session and send_message take text, images and files with their bytes or by their hash", async () => {
  const { made, connect, request } = await openMcp();
  const call = await connect();
  const image = { type: "image", data: tinyPngBase64, mime_type: "text/html" };
  const file = { type: "file", name: "notes.md", data: notes };
  const content = [{ type: "text", text: "and this" }, image, file];
  const first = await call("run_session", { ...request, prompt: "look", content, keep_ms: 60_000 });
  expect(heard(first)).toMatchObject({
    prompt: "look\n\nand this",
    parts: [
      { type: "image", sha256: sha256Hex(tinyPng), mime_type: "image/png", base64: tinyPngBase64 },
      { type: "file", name: "notes.md", mime_type: "text/plain", base64: notes },
    ],
  });
  const { session_id } = first.data;
  const stored = { type: "image", sha256: sha256Hex(tinyPng), mime_type: "image/png" };
  const schema = { type: "object" };
  const again = [{ type: "text", text: "more" }, stored, { ...file, data: Buffer.from("other").toString("base64") }];
  const second = await call("send_message", { session_id, content: again, output_schema: schema });
  expect(second.data.turn).toBe(2);
  expect(heard(second)).toMatchObject({ prompt: "more", schema, parts: [{ base64: tinyPngBase64 }, { type: "file" }] });
  // Without words of its own, the content is the prompt.
  const alone = await call("run_session", { ...request, content: [image] });
  expect(heard(alone)).toMatchObject({ prompt: "", parts: [{ type: "image" }] });
  await call("interrupt_session", { session_id });
  expect(await readdir(join(made.stateDir, "attachments"))).toHaveLength(3);
});

test("bytes that a client gives are its own: another one may not name them", async () => {
  const { connect, request } = await openMcp();
  const [one, other] = [await connect(), await connect()];
  await one("run_session", { ...request, content: [{ type: "image", data: tinyPngBase64 }] });
  const named = { ...request, content: [{ type: "image", sha256: sha256Hex(tinyPng), mime_type: "image/png" }] };
  // The built host's errors have another class than the door's here, so the words are compared.
  expect(await other("run_session", named)).toMatchObject({
    success: false,
    error: expect.stringContaining("Cannot find attachment"),
  });
  expect(await one("run_session", named)).toMatchObject({ success: true });
});

test("a message's terms are those of HTTP, and pass the same admission", async () => {
  const { connect, request } = await openMcp();
  const call = await connect();
  const first = await call("run_session", { ...request, prompt: "one", keep_ms: 60_000 });
  const { session_id } = first.data;
  const next = await call("send_message", { session_id, text: "two", with: { model: "m2", keep_ms: 0 } });
  expect(next.data.session_id).not.toBe(session_id);
  // An agent without a session of its own is told what was before.
  expect(heard(next)).toMatchObject({ model: "m2", prompt: expect.stringMatching(/two$/) });
  const named = { session_id, text: "three", with: { labels: { door: "acp" } } };
  expect(await call("send_message", named)).toMatchObject({ success: false, error_type: "forbidden" });
});

test("content that is no base64, empty, or given beside text is refused, and nothing is kept", async () => {
  const host = new ScriptedHost(async () => {});
  await using tester = await connectOverPipes({ sessions: host }, {});
  const call = async (name: string, args: object) =>
    (await tester.client.callTool({ name, arguments: { ...args } })).structuredContent as unknown as Told;
  const { data: { session_id } } = await call("run_session", { workdir: "/work", prompt: "go" });
  const bad = [{ type: "image", data: tinyPngBase64 }, { type: "file", name: "a", data: "no base64!" }];
  for (const [name, args] of [["run_session", { workdir: "/work" }], ["send_message", { session_id }]] as const) {
    expect(await call(name, { ...args, content: bad })).toMatchObject({
      error_type: "invalid_request",
      error: "Cannot read content[1]: its data is not base64.",
    });
    for (const content of [[], [{ type: "image" }], [{ type: "image", data: "", sha256: "0".repeat(64) }], [{}]]) {
      expect(await call(name, { ...args, content })).toMatchObject({ error_type: "invalid_request" });
    }
  }
  expect(await call("send_message", { session_id })).toMatchObject({ error_type: "invalid_request" });
  const both = { session_id, text: "a", content: [{ type: "text", text: "b" }] };
  expect(await call("send_message", both)).toMatchObject({ error_type: "invalid_request" });
  expect(host.attached.uploads.size).toBe(0);
  expect(host.sessions).toHaveLength(1);
});

test("the terms of send_message are written once, for every door", async () => {
  await using tester = await connectOverPipes({ sessions: new ScriptedHost(async () => {}) }, {});
  const { tools } = await tester.client.listTools();
  const shown = tools.find(({ name }) => name === "send_message")!.inputSchema.properties?.["with"];
  expect(shown).toEqual(JSON.parse(JSON.stringify(termsSchema)));
});
