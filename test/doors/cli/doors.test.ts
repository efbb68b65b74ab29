import {
  client,
  type ClientContext,
  ndJsonStream,
  type PromptResponse,
  type SessionNotification,
} from "@agentclientprotocol/sdk";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { spawn } from "node:child_process";
import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseHostManifest } from "../../../core/ground/config/parse-host-manifest.ts";
import { adapterCode, openHost, writePlugin } from "../../sessions/host/test-host.ts";
import { callTasks, startTask, tasksExtension, untilTask, withTasks } from "../mcp/mcp-client.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const onDeno = "Deno" in globalThis;
const program = onDeno ? ["run", "-A", join(root, "core/doors/cli/main.ts")] : [join(root, "dist/bundle/cli.js")];
const deadline = 120_000;

/** Says what it was asked, asks for permission, and says what came of that. */
const code = adapterCode(`
    yield { type: "agent_info", agent_session_id: "native-" + (request.continue_from ?? "new") };
    yield { type: "thinking", content: "Hm. " };
    yield { type: "tool_call", call_id: "c1", tool: "shell", kind: "execute", input: { command: "ls", path: "a.txt" } };
    yield { type: "permission_request", request_id: "r1", tool: "shell", title: "Run ls?", kind: "execute", call_id: "c1",
      options: [{ id: "yes", label: "Yes", kind: "allow_once" }, { id: "no", label: "No", kind: "reject_once" }] };
    const choice = await ctx.permission("r1");
    yield { type: "tool_result", call_id: "c1", tool: "shell", output: "a.txt", success: choice?.id === "yes", duration_ms: 1 };
    yield { type: "output", stream: "stdout", data: request.prompt + ": " + choice?.id };
    yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null, confidence: 0.5 };
`);

let home = "";
let workdir = "";
beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-doors-")));
  workdir = join(home, "work");
  await mkdir(workdir);
  const manifest = "reports: [permissions, tool_calls]\naccepts: [continue_from]";
  await writePlugin(join(home, "talker"), "talker", { code, manifest });
  await writeFile(
    join(home, "bulkhead.yaml"),
    "bulkhead: 1\nplugins:\n  talker: { source: ./talker }\ndaemon: { port: 0 }\n",
  );
});
afterEach(() => rm(home, { recursive: true, force: true, maxRetries: 3 }));

/** What starts a command of the program, in folders of the test's own. */
function command(...words: string[]) {
  const { PATH = "", HOME = "", DENO_DIR } = process.env;
  const own = ["--config", join(home, "bulkhead.yaml"), "--state-dir", join(home, "state")];
  const env = { PATH, HOME, XDG_DATA_HOME: home, ...(DENO_DIR === undefined ? {} : { DENO_DIR }) };
  return { command: process.execPath, args: [...program, ...words, ...own], env, cwd: workdir };
}

test("a real MCP client runs a session of bulkhead mcp, is asked for permission, and reads the log", async () => {
  const tester = new Client({ name: "tester", version: "1.0.0" }, { capabilities: { elicitation: { form: {} } } });
  const asked: string[] = [];
  tester.setRequestHandler("elicitation/create", ({ params }) => {
    asked.push(params.message);
    return { action: "accept", content: { answer: "yes" } };
  });
  await tester.connect(new StdioClientTransport({ ...command("mcp", "--embedded"), stderr: "inherit" }));
  try {
    const answer = await tester.callTool(
      { name: "run_session", arguments: { workdir, prompt: "over stdio", adapter: "talker", approval: "ask" } },
      { timeout: deadline },
    );
    expect(answer.structuredContent).toMatchObject({
      success: true,
      data: { outcome: "completed", output: "over stdio: yes" },
      confidence: 0.5,
      provenance: { adapter_id: "talker", host_version: expect.any(String) },
    });
    expect(asked).toEqual(["The agent asks to use shell: Run ls?"]);
    const { data } = answer.structuredContent as { data: { resources: { events: string } } };
    const { contents } = await tester.readResource({ uri: data.resources.events });
    expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({ complete: true });
  } finally {
    await tester.close();
  }
}, deadline);

test("a real ACP client drives bulkhead acp, is asked, cancels, and reloads in a new process", async () => {
  let id = "";
  {
    await using editor = connectEditor("--embedded");
    await editor.initialize();
    const made = await editor.agent.request("session/new", { cwd: workdir, mcpServers: [] });
    expect(made.modes).toMatchObject({
      availableModes: expect.arrayContaining([expect.objectContaining({ id: "talker" })]),
    });
    id = made.sessionId;
    expect((await editor.prompt(id, "one")).stopReason).toBe("end_turn");
    expect((await editor.prompt(id, "two")).stopReason).toBe("end_turn");
    expect(editor.said()).toBe("one: yestwo: yes");
    editor.onPermission = () => {
      void editor.agent.notify("session/cancel", { sessionId: id });
      return { outcome: { outcome: "cancelled" } };
    };
    expect((await editor.prompt(id, "three")).stopReason).toBe("cancelled");
  }
  await using editor = connectEditor("--embedded");
  await editor.initialize();
  const { sessions } = await editor.agent.request("session/list", { cwd: workdir });
  expect(sessions).toMatchObject([{ sessionId: id }]);
  await editor.agent.request("session/load", { sessionId: id, cwd: workdir, mcpServers: [] });
  expect(editor.said()).toBe("one: yestwo: yes");
  expect((await editor.prompt(id, "four")).stopReason).toBe("end_turn");
  expect(editor.said()).toBe("one: yestwo: yesfour: yes");
  const infos = editor.updates.map(({ update }) => JSON.stringify(update._meta ?? {})).join();
  expect(infos).toContain("native-native-");
}, deadline);

test("Bulkhead drives Bulkhead: its acp adapter runs bulkhead acp as its agent", async () => {
  const inner = command("acp", "--embedded");
  const wrapper = join(home, "inner-bulkhead");
  const quoted = [inner.command, ...inner.args].map((word) => `'${word}'`).join(" ");
  const exports = Object.entries(inner.env).map(([name, value]) => `export ${name}='${value}'\n`).join("");
  await writeFile(wrapper, `#!/bin/sh\n${exports}exec ${quoted}\n`);
  await chmod(wrapper, 0o755);
  const text =
    `bulkhead: 1\nplugins:\n  acp:\n    config: { command: "${wrapper}" }\n    grant: { run: [{ binary: "${wrapper}", contain: off }] }\n`;
  const manifest = parseHostManifest(text, { file: join(home, "outer.yaml") });
  const outer = await openHost({ manifest, bundledDir: join(root, "plugins") });
  const { result, events } = await outer.run("acp", { prompt: "from outside", approval: "all" });
  expect(result).toMatchObject({ outcome: "completed", output: "from outside: yes" });
  const types = events.filter(({ source }) => source === "agent").map(({ event }) => event.type);
  expect(types).toEqual(
    expect.arrayContaining(["thinking", "tool_call", "permission_request", "tool_result", "output"]),
  );
}, deadline);

test("with a daemon up, both doors run their sessions in it, and it goes on when they have gone", async () => {
  const { stderr, status } = await tell("start");
  expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
  try {
    const tester = new Client({ name: "tester", version: "1.0.0" });
    await tester.connect(new StdioClientTransport({ ...command("mcp"), stderr: "inherit" }));
    const answer = await tester.callTool(
      { name: "run_session", arguments: { workdir, prompt: "by one", adapter: "talker", approval: "all" } },
      { timeout: deadline },
    );
    await tester.close();
    expect(answer.structuredContent).toMatchObject({ success: true, data: { output: "by one: yes" }, confidence: 0.5 });
    {
      await using editor = connectEditor();
      await editor.initialize();
      const { sessionId } = await editor.agent.request("session/new", { cwd: workdir, mcpServers: [] });
      expect((await editor.prompt(sessionId, "by two")).stopReason).toBe("end_turn");
      expect(editor.said()).toBe("by two: yes");
    }
    const lines = (await tell("session", "list", "--json")).stdout.trim().split("\n");
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { title: "by two", state: "ended", outcome: "completed" },
      { title: "by one", state: "ended", outcome: "completed" },
    ]);
    expect(JSON.parse((await tell("status", "--json")).stdout)).toMatchObject({ state: "running", sessions: 0 });
  } finally {
    await tell("stop", "--now");
  }
}, deadline);

test(
  "a task over MCP outlives a daemon that is killed, and its client alone reads its result from the next one",
  async () => {
    const status = async () => JSON.parse((await tell("status", "--json")).stdout) as { address: string; pid: number };
    const connected = async (token: string) => {
      const tester = new Client({ name: "tester", version: "1.0.0" }, {
        capabilities: { elicitation: { form: {} }, extensions: { [tasksExtension]: {} } },
        versionNegotiation: { mode: "auto" },
      });
      const headers = { authorization: `Bearer ${token}` };
      const url = new URL(`${(await status()).address}/mcp`);
      await tester.connect(withTasks(new StreamableHTTPClientTransport(url, { requestInit: { headers } })));
      return tester;
    };
    expect(await tell("start")).toMatchObject({ status: 0, stderr: "" });
    try {
      const [own = "", other = ""] = await Promise.all(
        ["one", "two"].map(async (name) => (await tell("token", "create", name, "--scope", "run")).stdout.trim()),
      );
      const before = await connected(own);
      const request = { workdir, adapter: "talker" };
      const done = await startTask(before, { ...request, prompt: "before", approval: "all" });
      const result = await untilTask(before, done);
      expect(result).toMatchObject({
        status: "completed",
        result: { structuredContent: { success: true, data: { output: "before: yes" } } },
      });
      const asking = await startTask(before, { ...request, prompt: "meanwhile", approval: "ask" });
      expect(await untilTask(before, asking)).toMatchObject({ status: "input_required", inputRequests: { r1: {} } });
      process.kill((await status()).pid, "SIGKILL");
      await before.close().catch(() => {});
      expect(await tell("start")).toMatchObject({ status: 0 });

      const after = await connected(own);
      expect(await callTasks(after, "tasks/get", { taskId: done.taskId })).toEqual(result);
      expect(await untilTask(after, asking)).toMatchObject({
        status: "completed",
        result: { isError: true, structuredContent: { success: false, data: { stop_reason: "host_restarted" } } },
      });
      const late = { taskId: asking.taskId, inputResponses: { r1: { action: "accept", content: { answer: "yes" } } } };
      await callTasks(after, "tasks/update", late);
      // The next daemon takes tasks as the first one did.
      const next = await startTask(after, { ...request, prompt: "after", approval: "ask" });
      expect(await untilTask(after, next)).toMatchObject({ status: "input_required" });
      await callTasks(after, "tasks/update", { ...late, taskId: next.taskId });
      expect(await untilTask(after, next, "input_required")).toMatchObject({
        status: "completed",
        result: { structuredContent: { data: { output: "after: yes" } } },
      });
      const stranger = await connected(other);
      for (const method of ["tasks/get", "tasks/cancel"]) {
        await expect(callTasks(stranger, method, { taskId: done.taskId })).rejects.toMatchObject({ code: -32602 });
      }
      await Promise.all([after.close(), stranger.close()]);
    } finally {
      await tell("stop", "--now");
    }
  },
  deadline,
);

/** Runs a command of the program to its end. */
async function tell(...words: string[]): Promise<{ status: number | null; stdout: string; stderr: string }> {
  const { command: file, args, env, cwd } = command(...words);
  const child = spawn(file, args, { env, cwd, stdio: ["ignore", "pipe", "pipe"] });
  const texts = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (texts.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (texts.stderr += text));
  const status = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { status, ...texts };
}

type PermissionAnswer = { outcome: { outcome: "cancelled" } | { outcome: "selected"; optionId: string } };

/** An editor that starts the program, made from the protocol's own library and nothing else. */
interface Editor extends AsyncDisposable {
  agent: ClientContext;
  updates: SessionNotification[];
  onPermission(): PermissionAnswer;
  said(): string;
  initialize(): Promise<unknown>;
  prompt(sessionId: string, text: string): Promise<PromptResponse>;
}

function connectEditor(...flags: string[]): Editor {
  const { command: file, args, env, cwd } = command("acp", ...flags);
  const child = spawn(file, args, { env, cwd, stdio: ["pipe", "pipe", "inherit"] });
  const exited = new Promise((resolve) => child.once("close", resolve));
  const updates: SessionNotification[] = [];
  const app = client({ name: "editor" })
    .onNotification("session/update", ({ params }) => void updates.push(params))
    .onRequest("session/request_permission", () => editor.onPermission());
  const connection = app.connect(
    ndJsonStream(
      Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
      Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
    ),
  );
  const { agent } = connection;
  const editor: Editor = {
    agent,
    updates,
    onPermission: () => ({ outcome: { outcome: "selected", optionId: "yes" } }),
    said: () =>
      updates.map(({ update }) =>
        update.sessionUpdate === "agent_message_chunk" && update.content.type === "text" ? update.content.text : ""
      ).join(""),
    initialize: () => agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} }),
    prompt: (sessionId: string, text: string) =>
      agent.request<PromptResponse>("session/prompt", { sessionId, prompt: [{ type: "text", text }] }),
    async [Symbol.asyncDispose]() {
      connection.close();
      child.stdin.end();
      await exited;
    },
  };
  return editor;
}
