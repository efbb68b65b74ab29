import {
  type AuthInfo,
  createMcpHandler,
  type EventStore,
  hostHeaderValidationResponse,
  isLegacyRequest,
  type JSONRPCMessage,
  type McpRequestContext,
  originValidationResponse,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { defaultLimits } from "../../ground/config/limits.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import { bulkheadSurface, type SurfaceDeps } from "./bulkhead-surface.ts";
import { NewsSubscription, readListen } from "./listening.ts";
import { listenStream } from "./listen-stream.ts";
import { ResponseFlow } from "./response-flow.ts";
import { ToolWatch } from "./tool-watch.ts";
import { createServer, type McpSurface, type McpTool } from "./surface.ts";
import { ByteQueue } from "../../walls/channel/byte-queue.ts";
import { weightOf } from "../../walls/channel/weight.ts";

/** Options of {@link createMcpHttp}. */
export interface McpHttpOptions {
  /** Creates the surface of a caller; default: everything that Bulkhead offers. */
  surface?: (caller: McpCaller) => McpSurface;
  /** Names by which requests may call this server; absent: the mounting server has checked them. */
  hostnames?: string[];
  /** Bytes of one request's body, at most. */
  message_bytes?: number;
}

/** Caller of a request, as identified by the mounting server; its name owns its connections. */
type McpCaller = Required<SurfaceDeps>;

/** The endpoint: it takes the web's standard requests. */
export interface McpHttp {
  handle(request: Request, caller: McpCaller): Promise<Response>;
  /** Ends all connections; calls in progress are cancelled. */
  close(): Promise<void>;
}

/** Connections of the older protocol at once; further ones are refused. */
const maxConnections = 256;
/** Connections of one caller; a further one closes the caller's own that was silent longest. */
const maxOfOne = 32;
/** Idle time after which a connection without a running call is closed, when the next one begins. */
const idleMs = 30 * 60_000;

/** Delay before a client that lost its stream reconnects. */
const retryMs = 1000;

interface Connection {
  client: string;
  server: Server;
  transport: WebStandardStreamableHTTPServerTransport;
  flow: ResponseFlow;
  use: Use;
}

interface Use {
  /** Time of its last request or answer. */
  at: number;
  calls: number;
}

/** Serves Streamable HTTP: single requests of the newer protocol, connections of the older one. */
export function createMcpHttp(options: McpHttpOptions = {}): McpHttp {
  const { hostnames, message_bytes = defaultLimits.message_bytes } = options;
  const { surface = bulkheadSurface } = options;
  const serve = ({ authInfo, era }: McpRequestContext) =>
    createServer(surface(authInfo?.extra?.["caller"] as McpCaller), era);
  const modern = createMcpHandler(serve, { legacy: "reject", maxRequestBodySize: message_bytes });
  // Requests of the newer protocol share their listeners, and all callers see the same plugins.
  let watch: ToolWatch | null = null;
  const watchTools = async (caller: McpCaller) => {
    const { moreTools = async () => [] } = surface(caller);
    watch ??= new ToolWatch(moreTools, () => modern.notify.toolsChanged());
    watch.saw(await moreTools());
  };
  const connections = new Connections(surface, message_bytes);
  return {
    async handle(request, caller) {
      const refused = hostnames && (hostHeaderValidationResponse(request, hostnames) ??
        originValidationResponse(request, hostnames));
      if (refused) return refused;
      if (await isLegacyRequest(request, undefined, { maxRequestBodySize: message_bytes })) {
        return await connections.handle(request, caller);
      }
      if (watch === null) await watchTools(caller).catch(() => {});
      const listening = await listenOf(request, { surface: surface(caller), message_bytes });
      if (listening instanceof Response) return listening;
      const flow = new ResponseFlow();
      const authInfo = authInfoOf(caller, flow);
      if (listening === null) return flow.watch(await modern.fetch(request, { authInfo }));
      const response = await modern.fetch(request, { authInfo, parsedBody: listening.request });
      return flow.watch(listenStream(listening, response));
    },
    async close() {
      watch?.end();
      await Promise.all([modern.close(), connections.close()]);
    },
  };
}

/** Reads a request that listens, as its headers say; null for another one, and for one that only the library can refuse. */
async function listenOf(
  request: Request,
  { surface, message_bytes }: { surface: McpSurface; message_bytes: number },
): Promise<NewsSubscription | Response | null> {
  if (request.headers.get("mcp-method") !== "subscriptions/listen") return null;
  const read = await readListen(await bodyOf(request.clone(), message_bytes), surface);
  return read === null || read instanceof NewsSubscription ? read : Response.json(read, { status: 400 });
}

/** Returns the JSON of a body; null for a larger one, and for one that is none. */
async function bodyOf({ body }: Request, mostBytes: number): Promise<unknown> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    // Leaving the loop cancels the rest.
    if (text.length > mostBytes) return null;
  }
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Wraps the caller in the form that the library passes on to each call. */
function authInfoOf(caller: McpCaller, flow: ResponseFlow): AuthInfo {
  return { token: "", clientId: caller.client, scopes: [], extra: { caller, flow } };
}

class Connections {
  readonly #surface: (caller: McpCaller) => McpSurface;
  readonly #bodyBytes: number;
  readonly #open = new Map<string, Connection>();

  constructor(surface: (caller: McpCaller) => McpSurface, bodyBytes: number) {
    this.#surface = surface;
    this.#bodyBytes = bodyBytes;
  }

  async handle(request: Request, caller: McpCaller): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    if (id === null) return await this.#begin(request, caller);
    const connection = this.#open.get(id);
    // Another caller's connection must look as if it did not exist.
    if (connection === undefined || connection.client !== caller.client) return unknownConnection();
    connection.use.at = performance.now();
    this.#open.delete(id);
    this.#open.set(id, connection);
    const { transport, flow } = connection;
    return flow.watch(await transport.handleRequest(request, { authInfo: authInfoOf(caller, flow) }));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((id) => this.#end(id)));
  }

  /** Begins a new connection, and keeps it once `initialize` has opened it. */
  async #begin(request: Request, caller: McpCaller): Promise<Response> {
    await this.#endIdle();
    if (this.#open.size >= maxConnections) return tooManyConnections();
    const use: Use = { at: performance.now(), calls: 0 };
    const flow = new ResponseFlow();
    const server = createServer(counted(this.#surface(caller), use), "legacy");
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomId,
      eventStore: keepMessages(),
      retryInterval: retryMs,
      maxRequestBodySize: this.#bodyBytes,
      onsessioninitialized: async (id) => {
        await this.#makeRoom(caller.client);
        this.#open.set(id, { client: caller.client, server, transport, flow, use });
      },
      onsessionclosed: (id) => void this.#open.delete(id),
    });
    await server.connect(transport);
    const response = await transport.handleRequest(request);
    if (transport.sessionId === undefined || !this.#open.has(transport.sessionId)) await server.close();
    return flow.watch(response);
  }

  async #endIdle(): Promise<void> {
    const now = performance.now();
    for (const [id, { use }] of this.#open) {
      if (use.calls === 0 && now - use.at >= idleMs) await this.#end(id);
    }
  }

  /** Closes the caller's own connections only: closing one interrupts its sessions. */
  async #makeRoom(client: string): Promise<void> {
    const own = [...this.#open].filter(([, one]) => one.client === client);
    if (own.length < maxOfOne) return;
    const [id] = own.find(([, { use }]) => use.calls === 0) ?? own[0]!;
    await this.#end(id);
  }

  async #end(id: string): Promise<void> {
    const connection = this.#open.get(id);
    this.#open.delete(id);
    await connection?.server.close();
  }
}

/** Wraps a surface so that it counts its running calls. */
function counted(surface: McpSurface, use: Use): McpSurface {
  const countedTool = (tool: McpTool): McpTool => ({
    ...tool,
    async call(args, call) {
      use.calls += 1;
      try {
        return await tool.call(args, call);
      } finally {
        use.calls -= 1;
        use.at = performance.now();
      }
    },
  });
  const moreTools = async () => (await surface.moreTools?.() ?? []).map(countedTool);
  return { ...surface, tools: surface.tools.map(countedTool), moreTools };
}

function tooManyConnections(): Response {
  const error = { code: -32000, message: "Too many connections are open: end one, or try again later." };
  return Response.json({ jsonrpc: "2.0", id: null, error }, { status: 503, headers: { "retry-after": "5" } });
}

function unknownConnection(): Response {
  const error = { code: -32001, message: "There is no such connection: send initialize first." };
  return Response.json({ jsonrpc: "2.0", id: null, error }, { status: 404 });
}

interface Kept {
  id: number;
  stream: string;
  message: JSONRPCMessage;
}

/** Size of a message beyond its text. Bytes. */
const messageBytes = 256;
/** Bytes of messages to keep for a client that lost its connection. */
const keptBytes = 4 * 1024 * 1024;

/** Keeps the newest messages of one connection, for a client that resumes and asks for those it missed. */
function keepMessages(): EventStore {
  const kept = new ByteQueue<Kept>(keptBytes);
  let lastId = 0;
  const find = (eventId: string) => [...kept].find(({ id }) => String(id) === eventId);
  return {
    async storeEvent(stream, message) {
      const one = { id: ++lastId, stream, message };
      const bytes = weightOf(message) + messageBytes;
      // A message larger than the whole buffer is not kept: a client that missed it is told so.
      while (!kept.offer(one, bytes) && kept.length > 0) kept.take();
      return String(lastId);
    },
    async getStreamIdForEventId(eventId) {
      return find(eventId)?.stream;
    },
    async replayEventsAfter(eventId, { send }) {
      const from = find(eventId);
      if (from === undefined) throw new Error("The messages after this one are no longer held.");
      const missed = [...kept].filter(({ id, stream }) => id > from.id && stream === from.stream);
      for (const { id, message } of missed) {
        // An entry that only marks a place in the stream is no message.
        if ("method" in message || "result" in message || "error" in message) await send(String(id), message);
      }
      return from.stream;
    },
  };
}
