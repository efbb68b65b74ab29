import { portOf } from "./listening.ts";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { chmod, lstat, mkdtemp, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { BulkheadError, errorCodes } from "../../../../plugin-sdk/errors.ts";
import { toRequest } from "./http-request.ts";
import { sendResponse } from "./http-response.ts";
import { removeTree } from "../files/remove-tree.ts";

/** Origin of a request. */
export interface RequestSource {
  kind: "unix" | "tcp";
  /** The client's address; absent on a unix socket. */
  address?: string;
}

/** Address to listen at. Port 0 is any free one. */
export type ListenAt = { kind: "tcp"; host: string; port: number } | { kind: "unix"; path: string };

interface HttpServerLimits {
  /** Bytes of a request's line and headers. */
  header_bytes: number;
  /**
   * Open connections. A further one replaces the connection that owes its request the longest, or is closed at once.
   */
  connections: number;
  /** From the first byte of a request to the end of its headers. */
  header_timeout_ms: number;
  /** From the first byte of a request to the end of its body. */
  request_timeout_ms: number;
  /** Time for which a client may leave its answer unread before its connection is closed. */
  stall_timeout_ms: number;
}

/** Options of {@link startHttpServer}. */
export interface HttpServerOptions {
  at: ListenAt;
  limits: HttpServerLimits;
  /** Answers a request; its signal aborts when the client disconnects. Must not reject. */
  answer(request: Request, from: RequestSource): Promise<Response>;
  /** Called with the requested path when a client was cut off because it left an answer unread. */
  onStall?(path: string): void;
}

/** A running server. */
export interface HttpServer {
  /** Its address, with the actual port. */
  readonly at: ListenAt;
  connections(): Promise<number>;
  /** Refuses new connections, gives answers under way so many milliseconds to end, then cuts them off. */
  close(options?: { graceMs?: number }): Promise<void>;
}

/** Header lines of one request; refuses more, because the parser would drop the rest silently. */
const maxHeaders = 100;

/**
 * Starts a server for HTTP/1.1 alone. Only this user can open a unix socket, from its first moment.
 * @throws {BulkheadError} `busy` when another program listens there, `io_error`
 */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { at, limits } = options;
  // A daemon has two servers, and its state and its sessions need descriptors too.
  const room = new ConnectionRoom(Math.min(limits.connections, Math.floor(descriptorLimit() / 4)));
  const awaited: AwaitedAnswers = new WeakMap();
  const server = createServer({
    maxHeaderSize: limits.header_bytes,
    headersTimeout: limits.header_timeout_ms,
    requestTimeout: limits.request_timeout_ms,
    connectionsCheckingInterval: Math.min(5000, Math.ceil(limits.header_timeout_ms / 4)),
    keepAliveTimeout: 15_000,
  }, (incoming, outgoing) => {
    noteAnswer(outgoing, { socket: incoming.socket, room, awaited });
    void serve(incoming, { outgoing, options }).catch(() => outgoing.destroy());
  });
  server.maxHeadersCount = maxHeaders;
  server.on("connection", (socket: Socket) => room.admit(socket));
  server.on("clientError", (error, socket: Socket) => {
    // In the middle of an answer, a second one would look like a part of it.
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
}

type AwaitedAnswers = WeakMap<Socket, Set<ServerResponse>>;

function noteAnswer(
  outgoing: ServerResponse,
  { socket, room, awaited }: { socket: Socket; room: ConnectionRoom; awaited: AwaitedAnswers },
): void {
  room.serving(socket);
  const answers = awaited.get(socket) ?? new Set();
  awaited.set(socket, answers.add(outgoing));
  outgoing.once("close", () => {
    answers.delete(outgoing);
    if (answers.size === 0) room.served(socket);
  });
}

async function serve(
  incoming: IncomingMessage,
  { outgoing, options }: { outgoing: ServerResponse; options: HttpServerOptions },
): Promise<void> {
  const { limits, answer, onStall } = options;
  outgoing.on("error", () => {});
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort(new BulkheadError("interrupted", "The client has gone away.")));
  const request = toRequest(incoming, { maxHeaders, signal: gone.signal });
  const from = sourceOf(incoming, options.at);
  const response = "refused" in request ? request.refused : await answer(request.request, from);
  // Without its query, which may hold a token.
  const path = incoming.url?.split("?", 1)[0] ?? "";
  const stallMs = limits.stall_timeout_ms;
  await sendResponse(response, { incoming, outgoing, stallMs, onStall: () => onStall?.(path) });
}

function sourceOf({ socket: { remoteAddress } }: IncomingMessage, { kind }: ListenAt): RequestSource {
  return kind === "unix" || remoteAddress === undefined ? { kind } : { kind, address: remoteAddress };
}

/** Answers a request that is not HTTP, takes too long, or has too much before its body. */
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
  return { kind: "tcp", host, port: portOf(server) };
}

/** Makes the socket in a folder that only this user can enter, and moves it to its place after setting its own mode. */
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
    await removeTree(folder);
  }
  return { kind: "unix", path };
}

/** Frees a path that holds only a stale socket without a listener. */
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

/** Returns how many files this process may have open; infinite where the system does not tell. */
function descriptorLimit(): number {
  try {
    const soft = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return soft === undefined ? Infinity : Number(soft);
  } catch {
    return Infinity;
  }
}

/** Bounds a server's open connections: when full, the one that has owed its headers the longest makes room. */
class ConnectionRoom {
  readonly #most: number;
  readonly #open = new Set<Socket>();
  /** Those that owe the headers of a request, the longest first. */
  readonly #silent = new Set<Socket>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Takes a new connection; closes another one, or this one where every other is being served. */
  admit(socket: Socket): void {
    if (this.#open.size >= this.#most) {
      const [longest = socket] = this.#silent;
      this.#forget(longest);
      longest.destroy();
      if (longest === socket) return;
    }
    this.#open.add(socket);
    this.#silent.add(socket);
    socket.once("close", () => this.#forget(socket));
  }

  /** The headers of a request are there. */
  serving(socket: Socket): void {
    this.#silent.delete(socket);
  }

  /** It was answered, and the connection is kept for the next request. */
  served(socket: Socket): void {
    if (this.#open.has(socket)) this.#silent.add(socket);
  }

  #forget(socket: Socket): void {
    this.#open.delete(socket);
    this.#silent.delete(socket);
  }
}
