import type { JSONRPCMessage, SubscriptionFilter } from "@modelcontextprotocol/client";
import { describe, expect, test } from "vitest";
import type { PermissionRequestEvent } from "../../../plugin-sdk/events.ts";
import { ScriptedHost } from "../../sessions/host/scripted-session-host.ts";
import { until } from "../../sessions/host/test-host.ts";
import {
  callTasks,
  connectOverHttp,
  connectOverPipes,
  type SeenTask,
  startTask,
  tasksExtension,
  type TestClientOptions,
  type TestMcpClient,
} from "./mcp-client.ts";

const request = { workdir: "/work", prompt: "go" };
const modern = { era: "auto", tasks: true, form: () => null } as const;

const permission: PermissionRequestEvent = {
  type: "permission_request",
  request_id: "r1",
  tool: "shell",
  title: "Run ls?",
  options: [{ id: "yes", label: "Yes, do", kind: "allow_once" }],
};

const wires = {
  pipes: (sessions: ScriptedHost, options: TestClientOptions) => connectOverPipes({ sessions }, options),
  http: (sessions: ScriptedHost, options: TestClientOptions) => connectOverHttp({ sessions }, options),
};

/** The library's client knows no tasks, but sends what it is given. */
const listen = ({ client }: TestMcpClient, filter: SubscriptionFilter & { taskIds?: unknown }) =>
  client.listen(filter, { timeout: 10_000 });

/** States of tasks as they come. */
function statesAt({ client }: TestMcpClient): SeenTask[] {
  const states: SeenTask[] = [];
  client.fallbackNotificationHandler = async ({ method, params }) => {
    if (method === "notifications/tasks") states.push(params as SeenTask);
  };
  return states;
}

describe.each(Object.entries(wires))("listening over %s", (_, connect) => {
  test("a client gets each state of its task, whole, from the one now to the last", async () => {
    let goOn = () => {};
    const host = new ScriptedHost(async (session) => {
      session.emit({ type: "progress", message: "Reading files" });
      await new Promise<void>((resolve) => (goOn = resolve));
      await session.ask(permission);
      return { output: "Done." };
    });
    const honored: unknown[] = [];
    const onMessage = (message: JSONRPCMessage) => {
      if (!("method" in message) || !message.method.endsWith("/acknowledged")) return;
      honored.push(message.params?.["notifications"]);
    };
    await using tester = await connect(host, { ...modern, onMessage });
    const states = statesAt(tester);
    const { taskId } = await startTask(tester.client, request);
    await listen(tester, { taskIds: [taskId, taskId, "unknown"], toolsListChanged: true });
    expect(honored).toEqual([{ taskIds: [taskId], toolsListChanged: true }]);
    await until(() => states.at(-1)?.["statusMessage"] === "Reading files");
    const now = await callTasks(tester.client, "tasks/get", { taskId });
    const { resultType: _type, _meta: _nowMeta, ...task } = now;
    const { _meta: listened, ...told } = states.at(-1)!;
    expect(told).toEqual(task);
    expect(listened).toHaveProperty(["io.modelcontextprotocol/subscriptionId"]);
    goOn();
    await until(() => states.at(-1)?.status === "input_required");
    expect(states.at(-1)?.["inputRequests"]).toMatchObject({ r1: { method: "elicitation/create" } });
    const inputResponses = { r1: { action: "accept", content: { answer: "yes" } } };
    await callTasks(tester.client, "tasks/update", { taskId, inputResponses });
    await until(() => states.at(-1)?.status === "completed");
    expect(states.at(-1)).toMatchObject({ result: { structuredContent: { data: { output: "Done." } } } });
    const seen = states.map(({ status }) => status);
    expect(seen.slice(seen.indexOf("input_required"))).toContain("completed");
    expect(new Set(states.map(({ taskId: id }) => id))).toEqual(new Set([taskId]));
  });

  test("a task that is over is told once, and a client that ends its subscription gets nothing more", async () => {
    const waits: (() => void)[] = [];
    const host = new ScriptedHost(async (session) => {
      if (session.request.prompt === "short") return;
      await new Promise<void>((resolve) => waits.push(resolve));
      session.emit({ type: "progress", message: "more" });
    });
    await using tester = await connect(host, modern);
    const states = statesAt(tester);
    const short = await startTask(tester.client, { ...request, prompt: "short" });
    const long = await startTask(tester.client, request);
    await until(() => host.sessions[0]!.ended !== null);
    const subscription = await listen(tester, { taskIds: [short.taskId, long.taskId] });
    await until(() => states.length === 2);
    expect(new Map(states.map(({ taskId, status }) => [taskId, status]))).toEqual(
      new Map([[short.taskId, "completed"], [long.taskId, "working"]]),
    );
    await subscription.close();
    waits[0]!();
    await until(() => host.sessions[1]!.ended !== null);
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(states).toHaveLength(2);
  });

  test("a request that does not declare tasks may not listen to them, and a malformed one to nothing", async () => {
    const host = new ScriptedHost(async () => {});
    await using plain = await connect(host, { era: "auto" });
    await expect(listen(plain, { taskIds: ["any"] })).rejects.toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { extensions: { [tasksExtension]: {} } } },
    });
    await using tester = await connect(host, modern);
    await expect(listen(tester, { taskIds: [7] })).rejects.toMatchObject({ code: -32602 });
    const { honoredFilter } = await listen(tester, { taskIds: ["unknown"] });
    expect(honoredFilter).toEqual({});
  });

  test("a client gets the news of a session's resources that it listens to", async () => {
    const waits: (() => void)[] = [];
    const host = new ScriptedHost(async (session) => {
      await new Promise<void>((resolve) => waits.push(resolve));
      session.emit({ type: "progress", message: "more" });
    });
    const { id } = await host.start(request);
    await using tester = await connect(host, { era: "auto" });
    const told: string[] = [];
    tester.client.setNotificationHandler("notifications/resources/updated", ({ params }) => void told.push(params.uri));
    const uri = `bulkhead://sessions/${id}/events`;
    const { honoredFilter } = await listen(tester, { resourceSubscriptions: [uri] });
    expect(honoredFilter).toEqual({ resourceSubscriptions: [uri] });
    await until(() => waits.length === 1);
    waits[0]!();
    await until(() => told.length > 0);
    expect(told[0]).toBe(uri);
  });
});
