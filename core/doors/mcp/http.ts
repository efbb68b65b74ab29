import {
  type AuthInfo,
  createMcpHandler,
  hostHeaderValidationResponse,
  isLegacyRequest,
  originValidationResponse,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { defaultLimits } from "../../ground/config/limits.ts";
import type { SessionHost } from "../../sessions/host/session-host.ts";
import { randomId } from "../../ground/runtime/hash.ts";
import { bulkheadSurface } from "./bulkhead-surface.ts";
import { keepMessages } from "./message-memory.ts";
import { ResponseFlow } from "./response-flow.ts";
import { createServer, type McpSurface, type McpTool } from "./surface.ts";

/** Options of the HTTP endpoint of this protocol. */
export interface McpHttpOptions {
  /** Tools and resources for a caller; default: all. */
  surface?: (caller: McpCaller) => McpSurface;
  /** Host names of this server; absent: the server that mounts it has checked them. */
  hostnames?: string[];
  /** Bytes of one request's body. */
  message_bytes?: number;
}

/** Caller of a request, as the mounting server authenticated it. */
export interface McpCaller {
  /** A name of the caller's own: connections belong to it, and where sessions wait, clients take turns. */
  client: string;
  /** Sessions that it may see and handle. */
  sessions: SessionHost;
}

/** The endpoint: it takes requests of the web's standard kind. */
export interface McpHttp {
  handle(request: Request, caller: McpCaller): Promise<Response>;
  /** Ends all connections; calls that are under way are cancelled. */
  close(): Promise<void>;
}

/** Connections of the older protocol at once; beyond them a new one is refused. */
const maxConnections = 256;
/** Those of one caller; beyond them its own that was silent longest ends. */
const maxOfOne = 32;
/** After this much silence, with no call under way, a connection ends when the next one begins. */
const idleMs = 30 * 60_000;

/** When a client that lost its stream should come back. */
const retryMs = 1000;

interface Connection {
  client: string;
  server: Server;
  transport: WebStandardStreamableHTTPServerTransport;
  flow: ResponseFlow;
  use: Use;
}

/** Actions of a connection. */
interface Use {
  /** When it was asked or answered last. */
  at: number;
  /** Calls under way. */
  calls: number;
}

/**
 * Streamable HTTP. A request of the newer protocol stands for itself; those of the older one belong to a connection
 * that `initialize` opened.
 */
export function createMcpHttp(options: McpHttpOptions = {}): McpHttp {
  const { hostnames, message_bytes = defaultLimits.message_bytes } = options;
  const { surface = ({ sessions, client }: McpCaller) => bulkheadSurface(sessions, client) } = options;
  const modern = createMcpHandler(({ authInfo }) => createServer(surface(authInfo?.extra?.["caller"] as McpCaller)), {
    legacy: "reject",
    maxRequestBodySize: message_bytes,
  });
  const connections = new Connections(surface, message_bytes);
  return {
    async handle(request, caller) {
      const refused = hostnames && (hostHeaderValidationResponse(request, hostnames) ??
        originValidationResponse(request, hostnames));
      if (refused) return refused;
      if (await isLegacyRequest(request, undefined, { maxRequestBodySize: message_bytes })) {
        return await connections.handle(request, caller);
      }
      const flow = new ResponseFlow();
      return flow.watch(await modern.fetch(request, { authInfo: authInfoOf(caller, flow) }));
    },
    async close() {
      await Promise.all([modern.close(), connections.close()]);
    },
  };
}

/** Value that the library passes on to each call. */
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
    // Another caller's connection is as good as none.
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

  /** A new connection, kept once `initialize` has opened it. */
  async #begin(request: Request, caller: McpCaller): Promise<Response> {
    await this.#endIdle();
    if (this.#open.size >= maxConnections) return tooManyConnections();
    const use: Use = { at: performance.now(), calls: 0 };
    const flow = new ResponseFlow();
    const server = createServer(counted(this.#surface(caller), use));
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

  /** A caller that opens many ends its own: the oldest closes and interrupts its sessions. */
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

/** The same surface, which says how many of its calls are under way. */
function counted(surface: McpSurface, use: Use): McpSurface {
  const tools = surface.tools.map((tool): McpTool => ({
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
  }));
  return { ...surface, tools };
}

function tooManyConnections(): Response {
  const error = { code: -32000, message: "Too many connections are open: end one, or try again later." };
  return Response.json({ jsonrpc: "2.0", id: null, error }, { status: 503, headers: { "retry-after": "5" } });
}

function unknownConnection(): Response {
  const error = { code: -32001, message: "There is no such connection: send initialize first." };
  return Response.json({ jsonrpc: "2.0", id: null, error }, { status: 404 });
}
