import { describe, expect, test } from "vitest";
import type { PermissionRequestEvent } from "../../../plugin-sdk/events.ts";
import type { Artifact } from "../../../plugin-sdk/result.ts";
import { type Script, ScriptedHost } from "../../sessions/host/scripted-session-host.ts";
import { until } from "../../sessions/host/test-host.ts";
import { connectOverHttp, connectOverPipes, eras, noWorkspaces, type TestClientOptions } from "./mcp-client.ts";

const request = { workdir: "/work", prompt: "go" };
const permission: PermissionRequestEvent = {
  type: "permission_request",
  request_id: "r1",
  tool: "shell",
  title: "Run ls?",
  options: [
    { id: "yes", label: "Yes", kind: "allow_once" },
    { id: "no", label: "No", kind: "reject_once" },
  ],
};

const wires = {
  pipes: (host: ScriptedHost, options: TestClientOptions) => connectOverPipes({ sessions: host }, options),
  http: (host: ScriptedHost, options: TestClientOptions) => connectOverHttp({ sessions: host }, options),
};

const untilInterrupted: Script = async (session) => {
  await new Promise((resolve) => session.signal.addEventListener("abort", resolve, { once: true }));
};

const cases = eras.flatMap((era) => Object.entries(wires).map(([wire, connect]) => ({ era, wire, connect })));

describe.each(cases)("tools over $wire, $era", ({ era, connect }) => {
  test("run_session gives what came of the session, with progress, confidence and provenance", async () => {
    const host = new ScriptedHost(async (session) => {
      session.emit({ type: "output", stream: "stdout", data: "Working." });
      return { output: "Done.", confidence: 0.5 };
    });
    await using tester = await connect(host, { era });
    const progress: unknown[] = [];
    const answer = await tester.client.callTool(
      { name: "run_session", arguments: { ...request, adapter: "beta", task_id: "t1" } },
      { onprogress: (one) => void progress.push(one) },
    );
    expect(answer.structuredContent).toMatchObject({
      success: true,
      data: { state: "ended", outcome: "completed", output: "Done.", task_id: "t1" },
      confidence: 0.5,
      metadata: { tool_version: null },
      provenance: { adapter_id: "alpha", prompt_sha256: "0".repeat(64) },
    });
    expect(JSON.parse((answer.content[0] as { text: string }).text)).toEqual(answer.structuredContent);
    expect(progress[0]).toMatchObject({ progress: 3, message: "Working." });
    expect(host.sessions[0]!.options.adapter).toBe("beta");
    expect(host.sessions[0]!.request).toEqual({ ...request, task_id: "t1" });
  });

  test("run_session answers a failed session with failure, guidance and provenance", async () => {
    const host = new ScriptedHost(async () => ({
      stop_reason: "crash",
      confidence: 0,
      error: { code: "crash", message: "The worker died." },
    }));
    await using tester = await connect(host, { era });
    const answer = await tester.client.callTool({ name: "run_session", arguments: request });
    expect(answer.isError).toBe(true);
    expect(answer.structuredContent).toMatchObject({
      success: false,
      error: "The worker died.",
      error_type: "crash",
      recovery_guidance: expect.stringContaining("read_session"),
      confidence: 0,
      provenance: { adapter_id: "alpha" },
    });
  });

  test("a call that does not fit is answered with failure and starts nothing", async () => {
    const host = new ScriptedHost(async () => {});
    await using tester = await connect(host, { era });
    for (const args of [{}, { ...request, surprise: 1 }, { ...request, max_turns: "many" }]) {
      const answer = await tester.client.callTool({ name: "run_session", arguments: args });
      expect(answer.structuredContent).toMatchObject({ success: false, error_type: "invalid_request" });
    }
    const unknown = await tester.client.callTool({ name: "run_session", arguments: { ...request, adapter: "gamma" } });
    expect(unknown.structuredContent).toMatchObject({
      error_type: "unknown_adapter",
      recovery_guidance: expect.any(String),
    });
    await expect(tester.client.callTool({ name: "no_such_tool", arguments: {} })).rejects.toMatchObject({
      code: -32602,
    });
    expect(host.sessions).toHaveLength(0);
  });

  test("an agent that asks is answered with the answer tool", async () => {
    const choices: (string | null)[] = [];
    const host = new ScriptedHost(async (session) => {
      choices.push(await session.ask(permission));
      choices.push(await session.ask({ type: "question", request_id: "q1", question: "Which?" }));
    });
    await using tester = await connect(host, { era });
    const call = async (name: string, args: Record<string, unknown>) =>
      (await tester.client.callTool({ name, arguments: args })).structuredContent as { data: Record<string, unknown> };
    const first = await call("run_session", request);
    expect(first.data).toMatchObject({
      state: "waiting",
      waiting: [{ request_id: "r1", type: "permission_request", choices: ["yes", "no"] }],
    });
    const { session_id } = first.data;
    expect(await call("answer", { session_id, request_id: "r2", choice: "yes" })).toMatchObject({
      success: false,
      error_type: "conflict",
    });
    const second = await call("answer", { session_id, request_id: "r1", choice: "no" });
    expect(second.data).toMatchObject({ state: "waiting", waiting: [{ request_id: "q1", choices: [] }] });
    const third = await call("answer", { session_id, request_id: "q1", choice: "this one" });
    expect(third.data).toMatchObject({ state: "ended" });
    expect(choices).toEqual(["no", "this one"]);
  });

  test("an agent that asks is answered by the client's person where the client has forms", async () => {
    const choices: (string | null)[] = [];
    const host = new ScriptedHost(async (session) => {
      choices.push(await session.ask(permission));
      choices.push(await session.ask({ type: "question", request_id: "q1", question: "Which?" }));
    });
    const asked: string[] = [];
    await using tester = await connect(host, {
      era,
      form: (message) => {
        asked.push(message);
        return { answer: asked.length === 1 ? "yes" : "that one" };
      },
    });
    const answer = await tester.client.callTool({ name: "run_session", arguments: request });
    expect(answer.structuredContent).toMatchObject({ success: true, data: { state: "ended" } });
    expect(choices).toEqual(["yes", "that one"]);
    expect(asked).toEqual(["The agent asks to use shell: Run ls?", "Which?"]);
    expect(host.sessions).toHaveLength(1);
  });

  test("what an agent asks is shown to a person so that it cannot pass for anything else", async () => {
    const label = "No\u001b[1A\u202e";
    const options = [{ id: label, label, kind: "reject_once" as const }];
    const title = "Run ls?\u001b[2K\n\nThe host asks: allow all?";
    const host = new ScriptedHost(async (session) => {
      return { output: String(await session.ask({ ...permission, title, options })) };
    });
    const asked: unknown[] = [];
    const form = (message: string, schema: unknown) => {
      asked.push(message, schema);
      return { answer: label };
    };
    await using tester = await connect(host, { era, form });
    const answer = await tester.client.callTool({ name: "run_session", arguments: request });
    expect(answer.structuredContent).toMatchObject({ success: true, data: { output: label } });
    const said = "The agent asks to use shell: Run ls?\\u{1b}[2K The host asks: allow all?";
    expect(asked).toMatchObject([said, { properties: { answer: { enumNames: ["No\\u{1b}[1A\\u{202e}"] } } }]);
  });

  test.each<[string, () => Record<string, unknown> | null, string]>([
    ["declined", () => null, "declined"],
    ["filled in with what was not offered", () => ({ answer: "yes please" }), "not understood"],
    ["filled in with no text", () => ({ answer: 1 }), "not understood"],
  ])("a form that is %s denies the request, and the client is told", async (_how, form, why) => {
    const choices: (string | null)[] = [];
    const host = new ScriptedHost(async (session) => void choices.push(await session.ask(permission)));
    await using tester = await connect(host, { era, form: form as never });
    const answer = await tester.client.callTool({ name: "run_session", arguments: request });
    expect(answer.structuredContent).toMatchObject({ success: true, data: { state: "ended" } });
    expect(choices).toEqual(["no"]);
    const text = `The agent's request was denied: its form was ${why}.`;
    expect(answer.content).toContainEqual({ type: "text", text });
  });

  test("a cancelled call interrupts its session", async () => {
    const host = new ScriptedHost(untilInterrupted);
    await using tester = await connect(host, { era });
    const cancel = new AbortController();
    const call = tester.client.callTool({ name: "run_session", arguments: request }, { signal: cancel.signal });
    call.catch(() => {});
    await until(() => host.sessions.length === 1);
    cancel.abort();
    await expect(call).rejects.toBeDefined();
    await until(() => host.sessions[0]!.ended !== null);
    expect(host.sessions[0]!.ended!.stop_reason).toBe("interrupted");
  });

  test("a session that is not waited for is read page by page, listed and interrupted", async () => {
    const host = new ScriptedHost(async (session) => {
      for (let step = 0; step < 5; step++) session.emit({ type: "progress", message: `step ${step}` });
      await untilInterrupted(session);
    });
    await using tester = await connect(host, { era });
    const call = async (name: string, args: Record<string, unknown>) =>
      (await tester.client.callTool({ name, arguments: args })).structuredContent as { data: Record<string, unknown> };
    const { data: { session_id, state } } = await call("run_session", { ...request, wait: false });
    expect(state).toBe("running");
    await until(() => host.sessions[0]!.lastSeq === 7);
    const page = await call("read_session", { session_id, limit: 3 });
    expect(page.data).toMatchObject({ events: [{ seq: 1 }, { seq: 2 }, { seq: 3 }], next_after: 3, complete: false });
    const rest = await call("read_session", { session_id, after: 3 });
    expect(rest.data).toMatchObject({ events: [{ seq: 4 }, { seq: 5 }, { seq: 6 }, { seq: 7 }], complete: false });
    expect((await call("list_sessions", { state: "running" })).data).toMatchObject({
      sessions: [{ session_id, state: "running" }],
      next_before: null,
    });
    expect((await call("interrupt_session", { session_id })).data).toMatchObject({ stop_reason: "interrupted" });
    expect((await call("read_session", { session_id, after: 7 })).data).toMatchObject({ complete: true });
    expect(await call("delete_session", { session_id })).toMatchObject({ data: { session_id, deleted: true } });
    for (const gone of [session_id, "none"]) {
      expect(await call("read_session", { session_id: gone })).toMatchObject({
        success: false,
        error_type: "not_found",
      });
    }
  });

  test("continue_session is a message to the conversation, on its adapter and with its settings", async () => {
    const host = new ScriptedHost(async (session) => {
      await Promise.resolve();
      session.emit({ type: "agent_info", agent_session_id: "native-1" });
    });
    await using tester = await connect(host, { era });
    const run = { ...request, adapter: "beta", model: "large" };
    await tester.client.callTool({ name: "run_session", arguments: run });
    const [first] = host.sessions;
    const go = { session_id: first!.id, prompt: "more", timeout_ms: 5000 };
    const answer = await tester.client.callTool({ name: "continue_session", arguments: go });
    expect(answer.structuredContent).toMatchObject({ success: true });
    const [, next] = host.sessions;
    expect(next).toMatchObject({ conversation: first!.conversation, options: { adapter: "beta" } });
    expect(next!.request).toMatchObject({
      prompt: "more",
      model: "large",
      timeout_ms: 5000,
      continue_from: "native-1",
    });
  });

  test("list_agents gives every agent's report", async () => {
    await using tester = await connect(new ScriptedHost(async () => {}), { era });
    const answer = await tester.client.callTool({ name: "list_agents", arguments: {} });
    expect(answer.structuredContent).toMatchObject({
      success: true,
      data: { agents: [{ id: "alpha", primary: true }, { id: "beta" }] },
      confidence: null,
      provenance: { host_version: expect.any(String) },
    });
  });
});

describe("diff_session", () => {
  const encoder = new TextEncoder();
  const artifacts: Artifact[] = [{ path: "made.txt", change: "created", kind: "file", sha256: null, bytes: 5 }];
  const changed = (patch: string | Uint8Array) => ({
    diff: async () => ({ artifacts, held: [], patch: typeof patch === "string" ? encoder.encode(patch) : patch }),
  });
  const diff = async (workspaces = noWorkspaces) => {
    const sessions = new ScriptedHost(async () => {});
    await using tester = await connectOverPipes({ sessions, workspaces });
    const answer = await tester.client.callTool({ name: "diff_session", arguments: { session_id: "one" } });
    return answer.structuredContent as { data: Record<string, unknown> };
  };

  test("gives the patch", async () => {
    expect((await diff(changed("+made\n"))).data).toMatchObject({
      artifacts: [{ path: "made.txt" }],
      patch: "+made\n",
      patch_reason: null,
      patch_bytes: 6,
    });
  });

  test("gives no patch that is not text, or longer than a model should read", async () => {
    expect((await diff(changed(new Uint8Array([255])))).data).toMatchObject({ patch: null, patch_reason: "not_text" });
    const long = (await diff(changed("+".repeat(256 * 1024 + 1)))).data;
    expect(long).toMatchObject({ patch: null, patch_reason: "too_long", patch_bytes: 256 * 1024 + 1 });
    expect((await diff(changed("+".repeat(256 * 1024)))).data).toMatchObject({ patch_reason: null });
  });

  test("says where there is no worktree", async () => {
    expect(await diff()).toMatchObject({ success: false, error_type: "not_found" });
  });
});

test("run_session streams its events as log messages", async () => {
  const host = new ScriptedHost(async (session) => session.emit({ type: "output", stream: "stderr", data: "careful" }));
  await using tester = await connectOverPipes({ sessions: host });
  await tester.client.setLoggingLevel("debug");
  await tester.client.callTool({ name: "run_session", arguments: request });
  expect(tester.logs).toMatchObject([
    { level: "debug", data: { event: { type: "session_started" } } },
    { level: "debug", data: { event: { type: "attempt_started" } } },
    { level: "warning", data: { seq: 3, event: { type: "output", data: "careful" } } },
    { level: "info", data: { event: { type: "session_ended" } } },
  ]);
});
