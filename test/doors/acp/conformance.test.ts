import {
  client,
  type ClientCapabilities,
  type ClientContext,
  type InitializeResponse,
  ndJsonStream,
  type NewSessionRequest,
  type PromptResponse,
  type SessionNotification,
} from "@agentclientprotocol/sdk";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { adapterCode, until, writePlugin } from "../../sessions/host/test-host.ts";

/**
 * What the ACP registry and acpx ask of an agent, by their public descriptions, against the real program: the registry's
 * check of authentication and its protocol matrix, each case of acpx's profile acp-core-v1, and every stable method.
 *
 * Four cases of acpx have its mock agent read and write files by way of the client. `bulkhead acp` never does: its agents
 * work on the disk, behind their walls, and ask for permission. Here these cases are such requests.
 */

const root = fileURLToPath(new URL("../../../", import.meta.url));
const onDeno = "Deno" in globalThis;
const program = onDeno ? ["run", "-A", join(root, "core/doors/cli/main.ts")] : [join(root, "dist/bundle/cli.js")];
const deadline = 120_000;

const code = adapterCode(`
    yield { type: "agent_info", agent_session_id: "native" };
    const [word] = request.prompt.split(" ");
    if (word === "permission") {
      yield { type: "permission_request", request_id: "r1", tool: "write", title: "Write a.txt?", kind: "edit",
        options: [{ id: "yes", label: "Yes", kind: "allow_once" }, { id: "no", label: "No", kind: "reject_once" }] };
      const choice = await ctx.permission("r1");
      yield { type: "output", stream: "stdout", data: "choice: " + choice?.id };
    } else if (word === "question") {
      yield { type: "question", request_id: "q1", question: "Which colour?" };
      yield { type: "output", stream: "stdout", data: "colour: " + await ctx.answer("q1") };
    } else if (word === "wait") {
      yield { type: "output", stream: "stdout", data: "waiting" };
      await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
    } else {
      const terms = [request.model ?? "-", request.approval ?? "-"].join(" ");
      yield { type: "usage", scope: "turn", tokens_in: 90, tokens_out: 10, tokens_cached: null, cost: 0.01, currency: "USD" };
      yield { type: "output", stream: "stdout", data: "echo " + request.prompt + " [" + terms + "]" };
    }
    yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };
`);

let home = "";
let workdir = "";
beforeAll(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-acp-")));
  workdir = join(home, "work");
  await mkdir(workdir);
  const manifest = "capabilities: { max_context_tokens: 1000 }\n" +
    "reports: [permissions, tokens, cost]\naccepts: [continue_from, model]\nmodels: [big, small]";
  await writePlugin(join(home, "echo"), "echo", { code, manifest });
  await writeFile(
    join(home, "bulkhead.yaml"),
    "bulkhead: 1\nplugins:\n  echo: { source: ./echo }\ndaemon: { port: 0 }\n",
  );
});
afterAll(() => rm(home, { recursive: true, force: true, maxRetries: 3 }));

/** Starts a command of the program, in folders of the test's own. */
function start(...words: string[]): ChildProcess {
  const { PATH = "", HOME = "", DENO_DIR } = process.env;
  const own = ["--config", join(home, "bulkhead.yaml"), "--state-dir", join(home, "state"), "--embedded"];
  const env = { PATH, HOME, XDG_DATA_HOME: home, ...(DENO_DIR === undefined ? {} : { DENO_DIR }) };
  return spawn(process.execPath, [...program, ...words, ...own], {
    env,
    cwd: workdir,
    stdio: ["pipe", "pipe", "inherit"],
  });
}

/** An editor of the protocol's own library that runs the program, and what came over its standard output. */
class Editor implements AsyncDisposable {
  readonly updates: SessionNotification[] = [];
  readonly lines: string[] = [];
  readonly agent: ClientContext;
  permission: "yes" | "no" | null = "yes";
  readonly #capabilities: ClientCapabilities;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #close: () => void;

  constructor(capabilities: ClientCapabilities = {}) {
    this.#capabilities = capabilities;
    this.#child = start("acp");
    this.#exited = new Promise((resolve) => this.#child.once("close", resolve));
    let rest = "";
    this.#child.stdout!.on("data", (bytes: Uint8Array) => {
      const [last = "", ...done] = (rest + new TextDecoder().decode(bytes)).split("\n").reverse();
      this.lines.push(...done.reverse());
      rest = last;
    });
    const connection = client({ name: "conformance" })
      .onNotification("session/update", ({ params }) => void this.updates.push(params))
      .onRequest("session/request_permission", () => ({
        outcome: this.permission === null
          ? { outcome: "cancelled" as const }
          : { outcome: "selected" as const, optionId: this.permission },
      }))
      .onRequest("elicitation/create", () => ({ action: "accept", content: { answer: "blue" } }))
      .connect(ndJsonStream(
        Writable.toWeb(this.#child.stdin!) as WritableStream<Uint8Array>,
        Readable.toWeb(this.#child.stdout as Readable) as ReadableStream<Uint8Array>,
      ));
    this.agent = connection.agent;
    this.#close = () => connection.close();
  }

  initialize(): Promise<InitializeResponse> {
    const clientInfo = { name: "conformance", version: "1.0.0" };
    return this.agent.request("initialize", {
      protocolVersion: 1,
      clientInfo,
      clientCapabilities: this.#capabilities,
    });
  }

  async begin(): Promise<string> {
    await this.initialize();
    return (await this.agent.request("session/new", { cwd: workdir, mcpServers: [] })).sessionId;
  }

  prompt(sessionId: string, text: string, options: { cancellationSignal?: AbortSignal } = {}): Promise<PromptResponse> {
    return this.agent.request<PromptResponse>(
      "session/prompt",
      { sessionId, prompt: [{ type: "text", text }] },
      options,
    );
  }

  said(): string {
    return this.updates.map(({ update }) =>
      update.sessionUpdate === "agent_message_chunk" && update.content.type === "text" ? update.content.text : ""
    ).join("");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#close();
    this.#child.stdin!.end();
    await this.#exited;
    // The registry and editors read every line as a message.
    for (const line of this.lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: "2.0" });
  }
}

/** What acpx does not promise to send: a client that breaks the schema. */
const broken = (value: unknown) => value as NewSessionRequest;

test("the registry's checks pass: a terminal method, and load, list, resume, close", async () => {
  // These are the capabilities that the registry's own client sends.
  await using editor = new Editor({ terminal: true, _meta: { terminal_output: true, "terminal-auth": true } });
  const { authMethods = [], agentCapabilities, agentInfo } = await editor.initialize();
  const types = authMethods.map((method) => "type" in method ? method.type : "agent");
  expect(types).toEqual(["terminal"]);
  const { sessionCapabilities = {}, loadSession } = agentCapabilities!;
  const has = (name: string) => (sessionCapabilities as Record<string, unknown>)[name] != null;
  expect({ loadSession, list: has("list"), fork: has("fork"), resume: has("resume"), close: has("close") }).toEqual({
    loadSession: true,
    list: true,
    // Not in the stable protocol yet.
    fork: true,
    resume: true,
    close: true,
  });
  const entry = JSON.parse(await readFile(join(root, ".github/acp-registry/bulkhead/agent.json"), "utf8")) as {
    version: string;
  };
  expect(entry.version).toBe(agentInfo!.version);
}, deadline);

test("the terminal method's arguments set the host up", async () => {
  const child = start("acp", "--setup");
  let said = "";
  child.stdout!.on("data", (bytes: Uint8Array) => (said += new TextDecoder().decode(bytes)));
  child.stdin!.end();
  await new Promise((resolve) => child.once("close", resolve));
  expect(said).toMatch(/agent/i);
  expect(said).not.toContain("jsonrpc");
}, deadline);

test("acp-core: prompts, turns, cancels, permissions and errors", async () => {
  // These are the capabilities that acpx sends.
  await using editor = new Editor({ fs: { readTextFile: true, writeTextFile: true } });
  // initialize.handshake, session.new.basic
  const { protocolVersion, agentCapabilities } = await editor.initialize();
  expect(protocolVersion).toBe(1);
  expect(agentCapabilities).toBeTypeOf("object");
  const { agent } = editor;
  const sessionId = await editor.begin();
  expect(sessionId).toMatch(/./);

  // session.cancel.idle, session.prompt.single_turn, session.update.termination, session.prompt.multi_turn
  await agent.notify("session/cancel", { sessionId });
  expect((await editor.prompt(sessionId, "one")).stopReason).toBe("end_turn");
  expect(editor.updates.every((update) => update.sessionId === sessionId)).toBe(true);
  expect((await editor.prompt(sessionId, "two")).stopReason).toBe("end_turn");
  expect(editor.said()).toContain("echo one");
  expect(editor.said()).toContain("echo two");

  // session.prompt.echo_empty, session.prompt.unrecognized, session.prompt.background_completion
  const [empty, unknown] = await Promise.all([editor.prompt(sessionId, "echo "), editor.prompt(sessionId, "??? !!!")]);
  expect([empty.stopReason, unknown.stopReason]).toEqual(["end_turn", "end_turn"]);
  expect(editor.said()).toContain("echo ??? !!!");

  // session.prompt.post_success_drain: nothing of a turn comes behind its answer.
  const shown = editor.updates.length;
  await new Promise((resolve) => setTimeout(resolve, 160));
  expect(editor.updates).toHaveLength(shown);

  // session.prompt.structured_blocks
  const blocks = await agent.request("session/prompt", {
    sessionId,
    prompt: [{ type: "text", text: "see" }, { type: "resource_link", name: "a", uri: "file:///a.txt" }],
  });
  expect(blocks.stopReason).toBe("end_turn");

  // permissions.read.approved, permissions.write.approved, errors.permission_denied, errors.permission_denied.write
  await editor.prompt(sessionId, "permission");
  expect(editor.said()).toContain("choice: yes");
  editor.permission = "no";
  await editor.prompt(sessionId, "permission");
  expect(editor.said()).toContain("choice: no");

  // session.cancel.in_flight, session.cancel.followup_prompt
  const waiting = editor.prompt(sessionId, "wait");
  await until(() => editor.said().endsWith("waiting"));
  await agent.notify("session/cancel", { sessionId });
  expect((await waiting).stopReason).toBe("cancelled");
  expect((await editor.prompt(sessionId, "three")).stopReason).toBe("end_turn");

  // errors.invalid_params, errors.invalid_params.cwd_null, errors.invalid_prompt_session_type, errors.unknown_session
  const invalid = { code: -32602 };
  await expect(agent.request("session/new", broken({}))).rejects.toMatchObject(invalid);
  await expect(agent.request("session/new", broken({ cwd: null, mcpServers: [] }))).rejects.toMatchObject(invalid);
  await expect(editor.prompt(7 as unknown as string, "one")).rejects.toMatchObject(invalid);
  await expect(editor.prompt("unknown", "one")).rejects.toMatchObject({
    code: -32002,
    data: { error_type: "not_found" },
  });
  // The schema takes a prompt without a word, and no agent could answer it.
  await expect(editor.prompt(sessionId, "")).rejects.toThrow("it is empty");
}, deadline);

test("every other stable method and update is there", async () => {
  await using editor = new Editor({ elicitation: { form: {} }, session: { notices: {} } });
  const { agent } = editor;
  const sessionId = await editor.begin();
  const set = (configId: string, value: string) =>
    agent.request("session/set_config_option", { sessionId, configId, value });
  await set("agent", "echo");
  expect((await set("model", "small")).configOptions.map(({ id }) => id)).toEqual(["agent", "model", "approval"]);
  expect((await editor.prompt(sessionId, "one")).stopReason).toBe("end_turn");
  await set("model", "big");
  await set("approval", "edits");
  await editor.prompt(sessionId, "two");
  expect(editor.said()).toBe("echo one [small -]echo two [big edits]");
  await agent.request("session/set_mode", { sessionId, modeId: "auto" });
  const updates = editor.updates.map(({ update }) => update);
  expect(updates).toEqual(expect.arrayContaining([
    expect.objectContaining({ sessionUpdate: "usage_update", used: 100, size: 1000 }),
    expect.objectContaining({ sessionUpdate: "session_info_update", title: "one" }),
    expect.objectContaining({ sessionUpdate: "current_mode_update", currentModeId: "echo" }),
    expect.objectContaining({ sessionUpdate: "config_option_update" }),
  ]));

  // An agent's question is a form of the client.
  await editor.prompt(sessionId, "question");
  expect(editor.said()).toContain("colour: blue");

  // $/cancel_request
  const cancelling = new AbortController();
  const waiting = editor.prompt(sessionId, "wait", { cancellationSignal: cancelling.signal });
  await until(() => editor.said().endsWith("waiting"));
  cancelling.abort();
  expect((await waiting).stopReason).toBe("cancelled");

  const steering = {
    sessionId,
    prompt: [{ type: "text", text: "on" }],
    _meta: { steering: { idleBehavior: "promptRequired" } },
  };
  expect(await agent.request("_session/steering", steering)).toMatchObject({ outcome: "promptRequired" });

  expect(await agent.request("session/close", { sessionId })).toEqual({});
  expect((await agent.request("session/list", { cwd: workdir })).sessions.map((one) => one.sessionId)).toContain(
    sessionId,
  );
  const before = editor.said();
  await agent.request("session/resume", { sessionId, cwd: workdir, mcpServers: [] });
  expect(editor.said()).toBe(before);
  await editor.prompt(sessionId, "three");
  expect(editor.said()).toContain("echo three [big edits]");
  await agent.request("session/load", { sessionId, cwd: workdir, mcpServers: [] });
  expect(editor.said().split("echo one").length).toBe(3);
  expect(await agent.request("session/delete", { sessionId })).toEqual({});
  expect((await agent.request("session/list", {})).sessions.map((one) => one.sessionId)).not.toContain(sessionId);
  await expect(agent.request("session/load", { sessionId, cwd: workdir, mcpServers: [] })).rejects.toMatchObject({
    data: { error_type: "not_found" },
  });
  await expect(agent.request("authenticate", { methodId: "setup" })).rejects.toMatchObject({ code: -32602 });
  expect(await agent.request("logout", {})).toEqual({});
  await expect(agent.request("session/new", { cwd: workdir, mcpServers: [] })).rejects.toMatchObject({ code: -32000 });
}, deadline);
