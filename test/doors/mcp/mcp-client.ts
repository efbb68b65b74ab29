import {
  Client,
  type JSONRPCMessage,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { createMcpHttp, type McpHttp, type McpHttpOptions } from "../../../core/doors/mcp/http.ts";
import { serveMcp, type ServeMcpOptions } from "../../../core/doors/mcp/serve-mcp.ts";
import type { SessionHost } from "../../../core/sessions/host/session-host.ts";
import { chunksOf } from "../acp/acp-client.ts";

/** Both protocol eras: 2025 with its handshake, and 2026 without. */
export const eras = ["legacy", "auto"] as const;

export interface TestClientOptions {
  era?: (typeof eras)[number];
  /** Whether it takes a task for an answer. */
  tasks?: boolean;
  /** Called when the tools have changed. */
  onTools?: () => void;
  /** Called with each message as it comes: the library's client keeps none of what it does not know. */
  onMessage?: (message: JSONRPCMessage) => void;
  /** Answers a form; absent: the client has none. */
  form?: (message: string, schema: unknown) => Record<string, string> | null;
}

/** A client made from the protocol's own library, connected to the door. */
export interface TestMcpClient extends AsyncDisposable {
  client: Client;
  logs: { level: string; data: unknown }[];
}

/** Written out: a client must find it under this name. */
export const tasksExtension = "io.modelcontextprotocol/tasks";

/** The worktrees of a host without any. */
export const noWorkspaces: ServeMcpOptions["workspaces"] = {
  diff: async () => {
    throw new BulkheadError("not_found", "There is no worktree.");
  },
};

/** Connects over byte pipes, as over standard input and output. */
export function connectOverPipes(
  options: Omit<ServeMcpOptions, "wire" | "workspaces"> & Partial<Pick<ServeMcpOptions, "workspaces">>,
  clientOptions: TestClientOptions = {},
): Promise<TestMcpClient> {
  const pipe = new TransformStream<Uint8Array, Uint8Array>();
  const input = pipe.writable.getWriter();
  const transport: Transport = {
    start: async () => {},
    send: async (message) => await input.write(new TextEncoder().encode(`${JSON.stringify(message)}\n`)),
    close: async () => await input.close().catch(() => {}),
  };
  const write = async (text: string) => transport.onmessage?.(JSON.parse(text));
  const served = serveMcp({ workspaces: noWorkspaces, ...options, wire: { input: chunksOf(pipe.readable), write } });
  return connect(transport, clientOptions, () => served);
}

/** Connects to the HTTP endpoint, without a server between. */
export async function connectOverHttp(
  { sessions, workspaces = noWorkspaces, ...options }:
    & McpHttpOptions
    & { sessions: SessionHost; workspaces?: typeof noWorkspaces },
  { caller = "tester", ...clientOptions }: TestClientOptions & { caller?: string } = {},
): Promise<TestMcpClient & { http: McpHttp }> {
  const http = createMcpHttp(options);
  const fetch = (url: string | URL, init?: RequestInit) =>
    http.handle(new Request(url, init), { client: caller, sessions, workspaces });
  const transport = new StreamableHTTPClientTransport(new URL("http://localhost/mcp"), { fetch });
  return { ...await connect(transport, clientOptions, () => http.close()), http };
}

async function connect(
  transport: Transport,
  { era = "legacy", form, onTools, onMessage, tasks = false }: TestClientOptions,
  end: () => Promise<void>,
): Promise<TestMcpClient> {
  const client = new Client({ name: "tester", version: "1.0.0" }, {
    capabilities: {
      ...(form ? { elicitation: { form: {} } } : {}),
      ...(tasks ? { extensions: { [tasksExtension]: {} } } : {}),
    },
    versionNegotiation: { mode: era },
    ...(onTools ? { listChanged: { tools: { autoRefresh: false, onChanged: onTools } } } : {}),
  });
  const logs: TestMcpClient["logs"] = [];
  client.setNotificationHandler("notifications/message", ({ params }) => void logs.push(params));
  if (form) {
    client.setRequestHandler("elicitation/create", ({ params }) => {
      const content = form(params.message, "requestedSchema" in params ? params.requestedSchema : null);
      return content === null ? { action: "decline" } : { action: "accept", content };
    });
  }
  await client.connect(tasks ? withTasks(transport, onMessage) : transport);
  return {
    client,
    logs,
    async [Symbol.asyncDispose]() {
      await client.close();
      await end();
    },
  };
}

/** The library's client takes no answer for a call that is a task. Gives it one as text. */
export function withTasks(transport: Transport, onMessage: (message: JSONRPCMessage) => void = () => {}): Transport {
  let taken = transport.onmessage;
  Object.defineProperty(transport, "onmessage", {
    get: () => taken && readTask,
    set: (onmessage) => void (taken = onmessage),
  });
  const readTask: typeof taken = (message, extra) => {
    onMessage(message);
    if (!("result" in message) || message.result["resultType"] !== "task") return taken?.(message, extra);
    const content = [{ type: "text", text: JSON.stringify(message.result) }];
    taken?.({ ...message, result: { resultType: "complete", content } }, extra);
  };
  return transport;
}

/** Starts a session as a task. */
export async function startTask(client: Client, args: Record<string, unknown>): Promise<SeenTask> {
  const { content } = await client.callTool({ name: "run_session", arguments: args });
  return JSON.parse((content[0] as { text: string }).text) as SeenTask;
}

/** A task as the protocol shows it. */
export interface SeenTask extends Record<string, unknown> {
  taskId: string;
  status: string;
}

/** Calls a method of the extension. */
export async function callTasks(client: Client, method: string, params: Record<string, unknown>): Promise<SeenTask> {
  const anything = { "~standard": { version: 1, vendor: "test", validate: (value: unknown) => ({ value }) } } as const;
  return await client.request({ method, params }, anything) as SeenTask;
}

/** Looks at a task until it is neither at work nor in one of these states. */
export async function untilTask(client: Client, { taskId }: SeenTask, ...passed: string[]): Promise<SeenTask> {
  for (;;) {
    const task = await callTasks(client, "tasks/get", { taskId });
    if (task.status !== "working" && !passed.includes(task.status)) return task;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
