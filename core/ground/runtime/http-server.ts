import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { chmod, lstat, mkdtemp, rename, rm } from "node:fs/promises";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { BulkheadError, errorCodes } from "../../../plugin-sdk/errors.ts";
import { ConnectionRoom } from "./connection-room.ts";
import { toRequest } from "./http-request.ts";
import { sendResponse } from "./http-response.ts";

/** Where a request came in. */
export interface RequestSource {
  kind: "unix" | "tcp";
  /** Of the client; absent on a unix socket. */
  address?: string;
}

/** Where a server listens. Port 0 is any free one. */
export type ListenAt = { kind: "tcp"; host: string; port: number } | { kind: "unix"; path: string };

/** Limits of one server. */
export interface HttpServerLimits {
  /** Bytes of a request's line and headers. */
  header_bytes: number;
  /** Open connections. One more takes the place of the one that owes its request the longest, or is closed at once. */
  connections: number;
  /** From the first byte of a request to the end of its headers. */
  header_timeout_ms: number;
  /** From the first byte of a request to the end of its body. */
  request_timeout_ms: number;
  /** How long a client may leave what it asked for unread before its connection is closed. */
  stall_timeout_ms: number;
}

/** What a server is made from. */
export interface HttpServerOptions {
  at: ListenAt;
  limits: HttpServerLimits;
  /** Answers a request; its signal aborts when the client goes away. Must not reject. */
  answer(request: Request, from: RequestSource): Promise<Response>;
  /** Is told of a client that was cut off because it left an answer unread, by the path that it asked for. */
  onStall?(path: string): void;
}

/** A server that listens. */
export interface HttpServer {
  /** Where it listens, with the port that it got. */
  readonly at: ListenAt;
  /** Connections that are open now. */
  connections(): Promise<number>;
  /** Takes no more connections, lets answers under way end for so many milliseconds, then cuts them off. */
  close(options?: { graceMs?: number }): Promise<void>;
}

/** Header lines of one request; more than this many are refused, because the parser would drop the rest unsaid. */
const maxHeaders = 100;

/**
 * Starts a server for HTTP/1.1 alone. A unix socket can be opened by this user only, from its first moment.
 * @throws {BulkheadError} `busy` when another program listens there, `io_error`
 */
export async function startHttpServer({ at, limits, answer, onStall }: HttpServerOptions): Promise<HttpServer> {
  const server = createServer({
    maxHeaderSize: limits.header_bytes,
    headersTimeout: limits.header_timeout_ms,
    requestTimeout: limits.request_timeout_ms,
    connectionsCheckingInterval: Math.min(5000, Math.ceil(limits.header_timeout_ms / 4)),
    keepAliveTimeout: 15_000,
  }, (incoming, outgoing) => {
    void serve(incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.maxHeadersCount = maxHeaders;
  const room = new ConnectionRoom(limits.connections);
  server.on("connection", (socket: Socket) => room.admit(socket));
  /** Answers that a connection waits for. */
  const awaited = new WeakMap<Socket, Set<ServerResponse>>();
  server.on("clientError", (error, socket: Socket) => {
    // In the midst of an answer another one would pass for a part of it.
    if ([...awaited.get(socket) ?? []].some(({ headersSent }) => headersSent)) socket.destroy();
    else refuseBroken(error, socket);
  });
  const place = at.kind === "tcp" ? await listenTcp(server, at) : await listenUnix(server, at.path);
  let closing: Promise<void> | null = null;
  return {
    at: place,
    connections: () =>
      new Promise((resolve, reject) => server.getConnections((error, count) => error ? reject(error) : resolve(count))),
    close: ({ graceMs = 0 } = {}) => closing ??= closeServer(server, place, graceMs),
  };

  async function serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    outgoing.on("error", () => {});
    const { socket } = incoming;
    room.serving(socket);
    const answers = awaited.get(socket) ?? new Set();
    awaited.set(socket, answers.add(outgoing));
    outgoing.once("close", () => {
      answers.delete(outgoing);
      if (answers.size === 0) room.served(socket);
    });
    const { remoteAddress } = socket;
    const from: RequestSource = at.kind === "unix" || remoteAddress === undefined
      ? { kind: at.kind }
      : { kind: at.kind, address: remoteAddress };
    const gone = new AbortController();
    outgoing.once("close", () => gone.abort(new BulkheadError("interrupted", "The client has gone away.")));
    const request = toRequest(incoming, { maxHeaders, signal: gone.signal });
    const response = "refused" in request ? request.refused : await answer(request.request, from);
    // A query may hold a token.
    const path = incoming.url?.split("?", 1)[0] ?? "";
    const stallMs = limits.stall_timeout_ms;
    await sendResponse(response, { incoming, outgoing, stallMs, onStall: () => onStall?.(path) });
  }
}

/** Answers what is no HTTP, takes too long, or has too much before its body. */
function refuseBroken(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === "ECONNRESET" || error.code === "HPE_INVALID_EOF_STATE") {
    socket.destroy();
    return;
  }
  const [status, reason, code, detail] = error.code === "ERR_HTTP_REQUEST_TIMEOUT"
    ? [408, "Request Timeout", "timeout", "The request took too long to arrive."] as const
    : error.code === "HPE_HEADER_OVERFLOW"
    ? [431, "Request Header Fields Too Large", "too_large", "The request's headers are too large."] as const
    : [400, "Bad Request", "invalid_request", "The request is no HTTP/1.1."] as const;
  const body = JSON.stringify({ type: `urn:bulkhead:error:${code}`, title: errorCodes[code], status, code, detail });
  const head = [
    `HTTP/1.1 ${status} ${reason}`,
    "Connection: close",
    "Content-Type: application/problem+json",
    "X-Content-Type-Options: nosniff",
    `Content-Length: ${new TextEncoder().encode(body).length}`,
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}

async function listenTcp(server: Server, { host, port }: { host: string; port: number }): Promise<ListenAt> {
  await listening(server, `${host}:${port}`, () => server.listen(port, host));
  const address = server.address();
  return { kind: "tcp", host, port: typeof address === "object" && address !== null ? address.port : port };
}

/** The socket is made in a folder that nobody else may enter, and moved to its place when its own mode is set. */
async function listenUnix(server: Server, path: string): Promise<ListenAt> {
  await clearSocket(path);
  const folder = await mkdtemp(join(dirname(path), ".s")).catch((cause: unknown) => {
    throw new BulkheadError("io_error", `Cannot make the socket "${path}": its folder cannot be written to.`, {
      cause,
    });
  });
  try {
    const draft = join(folder, "s");
    await listening(server, path, () => server.listen(draft));
    await chmod(draft, 0o600);
    await rename(draft, path);
  } catch (error) {
    server.close();
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return { kind: "unix", path };
}

/** Makes room at a path where nothing is but a socket that nobody listens at any more. */
async function clearSocket(path: string): Promise<void> {
  const found = await lstat(path).catch(() => null);
  if (found === null) return;
  if (!found.isSocket()) {
    throw new BulkheadError("io_error", `Cannot make the socket "${path}": something else stands there.`, {
      hint: "Move it away, or name another path.",
    });
  }
  if (await answers(path)) throw inUse(path);
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const settle = (alive: boolean) => {
      socket.destroy();
      resolve(alive);
    };
    socket.once("connect", () => settle(true));
    socket.once("error", () => settle(false));
  });
}

function listening(server: Server, place: string, listen: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (error: Error & { code?: string }) => {
      const message = `Cannot listen at ${place} (${error.code ?? error.message}).`;
      reject(error.code === "EADDRINUSE" ? inUse(place) : new BulkheadError("io_error", message, { cause: error }));
    };
    server.once("error", failed);
    server.once("listening", () => {
      server.off("error", failed);
      server.on("error", () => {});
      resolve();
    });
    listen();
  });
}

function inUse(place: string): BulkheadError {
  return new BulkheadError("busy", `Cannot listen at ${place}: another program listens there.`, {
    hint: "Stop it, or choose another place.",
  });
}

async function closeServer(server: Server, at: ListenAt, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(cut);
  if (at.kind === "unix") await rm(at.path, { force: true });
}
