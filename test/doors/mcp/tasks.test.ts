import { describe, expect, test } from "vitest";
import type { PermissionRequestEvent } from "../../../plugin-sdk/events.ts";
import { type Script, ScriptedHost } from "../../sessions/host/scripted-session-host.ts";
import { adapterCode, openHost, until } from "../../sessions/host/test-host.ts";
import {
  callTasks,
  connectOverHttp,
  connectOverPipes,
  startTask,
  tasksExtension,
  type TestClientOptions,
  untilTask,
} from "./mcp-client.ts";

const request = { workdir: "/work", prompt: "go" };
const modern = { era: "auto", tasks: true } as const;

const permission: PermissionRequestEvent = {
  type: "permission_request",
  request_id: "r1",
  tool: "shell",
  title: "Run ls?",
  options: [
    { id: "yes", label: "Yes, do", kind: "allow_once" },
    { id: "no", label: "No", kind: "reject_once" },
  ],
};

const untilInterrupted: Script = async (session) => {
  session.emit({ type: "progress", message: "Reading files" });
  await new Promise((resolve) => session.signal.addEventListener("abort", resolve, { once: true }));
};

const wires = {
  pipes: (sessions: ScriptedHost, options: TestClientOptions) => connectOverPipes({ sessions }, options),
  http: (sessions: ScriptedHost, options: TestClientOptions) => connectOverHttp({ sessions }, options),
};

describe.each(Object.entries(wires))("tasks over %s", (_, connect) => {
  test("run_session is answered with a task, whose result is what a call that waits would have had", async () => {
    let finish = () => {};
    const host = new ScriptedHost(async (session) => {
      session.emit({ type: "progress", message: "Reading files" });
      await new Promise<void>((resolve) => (finish = resolve));
      return { output: "Done.", confidence: 0.5 };
    });
    await using tester = await connect(host, modern);
    expect(tester.client.getServerCapabilities()?.extensions).toEqual({ [tasksExtension]: {} });
    const created = await startTask(tester.client, request);
    const [session] = host.sessions;
    expect(created).toMatchObject({
      resultType: "task",
      taskId: session!.id,
      status: "working",
      createdAt: session!.started,
      lastUpdatedAt: session!.started,
      ttlMs: null,
      pollIntervalMs: 1000,
    });
    const { taskId } = created;
    expect(await callTasks(tester.client, "tasks/get", { taskId })).toMatchObject({
      taskId,
      status: "working",
      statusMessage: "Reading files",
    });
    finish();
    const done = await untilTask(tester.client, created);
    expect(done).toMatchObject({
      status: "completed",
      result: {
        resultType: "complete",
        structuredContent: { success: true, data: { state: "ended", output: "Done." }, confidence: 0.5 },
      },
    });
    expect(await callTasks(tester.client, "tasks/get", { taskId })).toMatchObject({ result: done["result"] });
  });

  test("what an agent asks is input_required, and its answer the task goes on with", async () => {
    const choices: (string | null)[] = [];
    const host = new ScriptedHost(async (session) => {
      const question = session.ask({ type: "question", request_id: "q1", question: "Which?", options: ["a", "b"] });
      choices.push(await session.ask(permission), await question);
      choices.push(await session.ask({ ...permission, request_id: "r2" }));
    });
    await using tester = await connect(host, { ...modern, form: () => null });
    const created = await startTask(tester.client, request);
    const { taskId } = created;
    const asked = await untilTask(tester.client, created);
    const form = (message: string, answer: object) => ({
      method: "elicitation/create",
      params: { mode: "form", message, requestedSchema: { properties: { answer }, required: ["answer"] } },
    });
    expect(asked).toMatchObject({ status: "input_required", taskId });
    expect(asked["inputRequests"]).toMatchObject({
      q1: form("Which?", { enum: ["a", "b"] }),
      r1: form("The agent asks to use shell: Run ls?", { enum: ["yes", "no"], enumNames: ["Yes, do", "No"] }),
    });
    const answer = (inputResponses: object) => callTasks(tester.client, "tasks/update", { taskId, inputResponses });
    const accept = (said: string) => ({ action: "accept", content: { answer: said } });
    expect(await answer({ q1: accept("b"), never: accept("yes") })).not.toHaveProperty("status");
    const left = await callTasks(tester.client, "tasks/get", { taskId });
    expect(left["inputRequests"]).toEqual({ r1: (asked["inputRequests"] as Record<string, unknown>)["r1"] });
    await answer({ q1: accept("a"), r1: accept("yes") });
    await until(() => host.sessions[0]!.waiting.includes("r2"));
    // A form that is not understood is a no.
    await answer({ r2: accept("perhaps") });
    expect(await untilTask(tester.client, created)).toMatchObject({ status: "completed" });
    expect(choices).toEqual(["yes", "b", "no"]);
  });

  test("a client without forms is told which tool answers", async () => {
    const host = new ScriptedHost(async (session) => void await session.ask(permission));
    await using tester = await connect(host, modern);
    const created = await startTask(tester.client, request);
    await until(() => host.sessions[0]!.waiting.length > 0);
    const { taskId } = created;
    const task = await callTasks(tester.client, "tasks/get", { taskId });
    expect(task).toMatchObject({ status: "working", statusMessage: expect.stringContaining('"answer"') });
    expect(task).not.toHaveProperty("inputRequests");
    await tester.client.callTool({
      name: "answer",
      arguments: { session_id: taskId, request_id: "r1", choice: "yes" },
    });
    expect(await untilTask(tester.client, created)).toMatchObject({ status: "completed" });
  });

  test("tasks/cancel interrupts the session, and leaves one that is over alone", async () => {
    const host = new ScriptedHost(untilInterrupted);
    await using tester = await connect(host, modern);
    const created = await startTask(tester.client, request);
    const { taskId } = created;
    expect(await callTasks(tester.client, "tasks/cancel", { taskId })).not.toHaveProperty("status");
    const task = await untilTask(tester.client, created);
    expect(task).toMatchObject({ status: "cancelled", statusMessage: expect.stringContaining("interrupted") });
    await callTasks(tester.client, "tasks/cancel", { taskId });
    expect(await callTasks(tester.client, "tasks/get", { taskId })).toEqual(task);
  });

  test("a failed session is a completed task with an error in its result", async () => {
    const error = { code: "crash", message: "The worker died." } as const;
    const host = new ScriptedHost(async () => ({ stop_reason: "crash", error }));
    await using tester = await connect(host, modern);
    const created = await startTask(tester.client, request);
    expect(await untilTask(tester.client, created)).toMatchObject({
      status: "completed",
      result: { isError: true, structuredContent: { success: false, error_type: "crash" } },
    });
    // What starts no session makes no task.
    const refused = await tester.client.callTool({ name: "run_session", arguments: { ...request, adapter: "gamma" } });
    expect(refused.structuredContent).toMatchObject({ success: false, error_type: "unknown_adapter" });
  });

  test("unknown tasks and malformed input are refused by the protocol's codes", async () => {
    await using tester = await connect(new ScriptedHost(untilInterrupted), modern);
    const { taskId } = await startTask(tester.client, request);
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
      const refused = (params: object) =>
        callTasks(tester.client, method, { inputResponses: {}, ...params }).then(
          () => null,
          ({ code, data }) => ({ code, data }),
        );
      expect(await refused({ taskId: "none" })).toMatchObject({ code: -32602, data: { error_type: "not_found" } });
      for (const bad of [{}, { taskId: 7 }, { taskId: "" }, { taskId: "x".repeat(65) }]) {
        expect(await refused(bad), method).toMatchObject({ code: -32602 });
      }
    }
    const answers = (inputResponses: unknown) => callTasks(tester.client, "tasks/update", { taskId, inputResponses });
    const many = Object.fromEntries(Array.from({ length: 257 }, (_, n) => [`q${n}`, { action: "cancel" }]));
    for (const bad of [undefined, { q1: {} }, { q1: { action: "perhaps" } }, many]) {
      await expect(answers(bad)).rejects.toMatchObject({ code: -32602 });
    }
    for (const method of ["tasks/list", "tasks/result"]) {
      await expect(callTasks(tester.client, method, { taskId })).rejects.toThrow();
    }
  });

  test("a client without tasks is answered as before, and refused the methods", async () => {
    const host = new ScriptedHost(async () => ({ output: "Done." }));
    await using tester = await connect(host, { era: "auto" });
    const answer = await tester.client.callTool({ name: "run_session", arguments: request });
    expect(answer.structuredContent).toMatchObject({ data: { state: "ended", output: "Done." } });
    const taskId = host.sessions[0]!.id;
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
      await expect(callTasks(tester.client, method, { taskId, inputResponses: {} })).rejects.toMatchObject({
        code: -32021,
        data: { requiredCapabilities: { extensions: { [tasksExtension]: {} } } },
      });
    }
  });

  test("in the older protocol there are no tasks", async () => {
    const host = new ScriptedHost(async () => ({ output: "Done." }));
    await using tester = await connect(host, { era: "legacy", tasks: true });
    expect(tester.client.getServerCapabilities()?.extensions).toBeUndefined();
    const answer = await tester.client.callTool({ name: "run_session", arguments: request });
    expect(answer.structuredContent).toMatchObject({ data: { state: "ended" } });
    const refused = callTasks(tester.client, "tasks/get", { taskId: host.sessions[0]!.id });
    await expect(refused).rejects.toMatchObject({ code: -32601 });
  });
});

test("an open request is found behind all that the agent does meanwhile", async () => {
  const host = new ScriptedHost(async (session) => {
    const asked = session.ask(permission);
    for (let count = 0; count < 300; count++) session.emit({ type: "progress", message: `Step ${count}` });
    await asked;
  });
  await using tester = await connectOverPipes({ sessions: host }, { ...modern, form: () => null });
  const created = await startTask(tester.client, request);
  expect(await untilTask(tester.client, created)).toMatchObject({
    status: "input_required",
    statusMessage: "Step 299",
    inputRequests: { r1: { params: { message: "The agent asks to use shell: Run ls?" } } },
  });
});

test("the task of a session that is kept is its first turn", async () => {
  const { host, workdir, add } = await openHost();
  const code = adapterCode(`
    for await (const turn of ctx.turns) {
      yield { type: "output", stream: "stdout", data: turn.prompt };
      if (turn.prompt.includes("wait")) await ctx.sleep(600_000, { signal: turn.signal }).catch(() => {});
      yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };
    }`);
  await add("alpha", { code, manifest: "accepts: [turns, stop_turn]" });
  await using tester = await connectOverPipes({ sessions: host.sessions }, modern);
  const tool = async (name: string, args: Record<string, unknown>) =>
    (await tester.client.callTool({ name, arguments: args })).structuredContent as { data: Record<string, unknown> };
  const keeps = { workdir, adapter: "alpha", keep_ms: 60_000, artifacts: "none" };
  const created = await startTask(tester.client, { ...keeps, prompt: "one" });
  const { taskId } = created;
  const look = () => callTasks(tester.client, "tasks/get", { taskId });
  const task = await untilTask(tester.client, created);
  expect(task).toMatchObject({
    status: "completed",
    result: { structuredContent: { data: { state: "kept", turn: 1, output: "one" } } },
  });
  expect((await tool("send_message", { session_id: taskId, text: "two" })).data).toMatchObject({ turn: 2 });
  await tool("send_message", { session_id: taskId, text: "wait", wait: false });
  await expect.poll(async () => (await host.sessions.get(taskId)).turn).toEqual({ number: 3, state: "working" });
  expect(await look()).toEqual(task);
  await callTasks(tester.client, "tasks/cancel", { taskId });
  expect(await host.sessions.get(taskId)).toMatchObject({ state: "running", turn: { state: "working" } });
  await tool("interrupt_session", { session_id: taskId });
  expect(await look()).toEqual(task);

  // The conversation's next session begins at a later turn.
  const next = await tool("send_message", { session_id: taskId, text: "wait", wait: false });
  const later = String(next.data["session_id"]);
  expect(later).not.toBe(taskId);
  await expect.poll(async () => (await host.sessions.get(later)).turn).toEqual({ number: 4, state: "working" });
  const of = { taskId: later };
  expect(await callTasks(tester.client, "tasks/get", of)).toMatchObject({ ...of, status: "working" });
  await callTasks(tester.client, "tasks/cancel", of);
  expect(await callTasks(tester.client, "tasks/get", of)).toMatchObject({ ...of, status: "cancelled" });
});

test("run_session tells its events as progress, whole where the client wants that, and in the newer protocol as no log messages", async () => {
  const host = new ScriptedHost(async (session) => {
    session.emit({ type: "output", stream: "stderr", data: "careful" });
    session.emit({ type: "output", stream: "stdout", data: "soon after" });
  });
  for (const era of ["auto", "legacy"] as const) {
    await using tester = await connectOverPipes({ sessions: host }, { era });
    expect(tester.client.getServerCapabilities()?.logging !== undefined).toBe(era === "legacy");
    const call = async (_meta: Record<string, unknown>) => {
      const told: Record<string, unknown>[] = [];
      const params = { name: "run_session", arguments: request, _meta };
      await tester.client.callTool(params, { onprogress: (one) => void told.push({ ...one }) });
      return told;
    };
    const few = await call({ "io.modelcontextprotocol/logLevel": "debug" });
    expect(few.every((one) => one["_meta"] === undefined)).toBe(true);
    const all = await call({ "bulkhead/events": true });
    expect(all).toMatchObject([
      { progress: 1, _meta: { "bulkhead/event": { event: { type: "session_started" } } } },
      { progress: 2, _meta: { "bulkhead/event": { event: { type: "attempt_started" } } } },
      { progress: 3, message: "careful", _meta: { "bulkhead/event": { seq: 3, event: { data: "careful" } } } },
      { progress: 4, message: "soon after", _meta: { "bulkhead/event": { event: { data: "soon after" } } } },
      { progress: 5, _meta: { "bulkhead/event": { event: { type: "session_ended" } } } },
    ]);
    if (era === "auto") expect(tester.logs).toEqual([]);
  }
});
