import {
  client,
  type ClientContext,
  type InitializeResponse,
  ndJsonStream,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionNotification,
} from "@agentclientprotocol/sdk";
import { serveAcp, type ServeAcpOptions } from "../../../core/doors/acp/serve-acp.ts";

/** What a test's editor does when it is asked. */
export interface TestClientOptions {
  permission?: (request: RequestPermissionRequest) => Promise<RequestPermissionResponse> | RequestPermissionResponse;
  /** Answers a form; absent: the client has none. */
  form?: (message: string) => Record<string, string> | null;
  notices?: boolean;
}

/** An editor, made from the protocol's own library and nothing else, over byte pipes to the door. */
export interface TestClient extends AsyncDisposable {
  agent: ClientContext;
  updates: SessionNotification[];
  asked: RequestPermissionRequest[];
  /** Text of the agent's messages so far. */
  said(): string;
  initialize(): Promise<InitializeResponse>;
}

/** Connects an editor to the door in this process. */
export function connectClient(
  options: Omit<ServeAcpOptions, "wire">,
  { permission, form, notices = false }: TestClientOptions = {},
): TestClient {
  const toAgent = new TransformStream<Uint8Array, Uint8Array>();
  const toClient = new TransformStream<Uint8Array, Uint8Array>();
  const writer = toClient.writable.getWriter();
  const served = serveAcp({
    ...options,
    wire: {
      input: chunksOf(toAgent.readable),
      write: (text) => writer.write(new TextEncoder().encode(text)),
    },
  });
  const updates: SessionNotification[] = [];
  const asked: RequestPermissionRequest[] = [];
  const app = client({ name: "test-editor" })
    .onNotification("session/update", ({ params }) => void updates.push(params))
    .onRequest("session/request_permission", async ({ params }) => {
      asked.push(params);
      return permission === undefined ? { outcome: { outcome: "cancelled" } } : await permission(params);
    })
    .onRequest("elicitation/create", ({ params }) => {
      const content = form?.(params.message) ?? null;
      return content === null ? { action: "cancel" } : { action: "accept", content };
    });
  const connection = app.connect(ndJsonStream(toAgent.writable, toClient.readable));
  return {
    agent: connection.agent,
    updates,
    asked,
    said: () =>
      updates.map(({ update }) =>
        update.sessionUpdate === "agent_message_chunk" && update.content.type === "text" ? update.content.text : ""
      ).join(""),
    initialize: () =>
      connection.agent.request("initialize", {
        protocolVersion: 1,
        clientInfo: { name: "test-editor", version: "1.0.0" },
        clientCapabilities: {
          ...(notices ? { session: { notices: {} } } : {}),
          ...(form ? { elicitation: { form: {} } } : {}),
        },
      }),
    async [Symbol.asyncDispose]() {
      connection.close();
      await toAgent.writable.abort().catch(() => {});
      await served;
    },
  };
}

/** A stream's chunks; not every runtime that tests run on can iterate one. */
export async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  const reader = stream.getReader();
  for (;;) {
    const step = await reader.read().catch(() => ({ done: true as const, value: undefined }));
    if (step.done) return;
    yield step.value;
  }
}
