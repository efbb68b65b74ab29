import { timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, isIP, type Server, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { BulkheadError, type ErrorCode } from "../../../plugin-sdk/errors.ts";
import { readUrl } from "../../ground/config/net-target.ts";
import { answerInstead, joinCovered, showUnsent } from "./covered-answer.ts";
import { type Cover, createCover } from "./cover-bytes.ts";
import { maxHeadBytes, parseRequestHead, type RequestHead, valuesOf } from "./http-head.ts";
import { openFarEnd } from "./join-sockets.ts";
import { type EgressEndpoint, type EndpointRequest, toEndpoint } from "./model-endpoint.ts";
import { beginWires } from "./wire-followers.ts";

/** Way of a connection. */
export interface EgressRoute {
  /** Addresses that were checked, in the order in which to try them. */
  addresses: readonly string[];
  port: number;
}

/** Options of {@link createEgress}. */
export interface EgressOptions {
  /** Password that a client must send. */
  token: string;
  /** Connections at once. */
  most: number;
  /**
   * Decides about a place.
   * @param endpoint the one by which a client reaches it, which a grant alone may have to let through; absent: straight
   * @throws {BulkheadError} what the client is told
   */
  route(target: URL, endpoint?: Pick<EgressEndpoint, "unasked">): Promise<EgressRoute>;
  /** Makes and tells the refusal of a service of this machine that programs look for at the proxy; absent: none is told. */
  refuseService?(service: "docker"): BulkheadError;
  /** The endpoint of this name, by which clients reach a place through a path of the proxy itself; absent: none. */
  endpoint?(name: string): EgressEndpoint | undefined;
}

/** A proxy of one session. */
export interface Egress {
  take(client: Socket): void;
  /** Takes a client that wants a port of this machine and uses no proxy for it. */
  tunnel(client: Socket, port: number): void;
  /** Opens a port of this machine for the proxy, for a system where programs have no loopback of their own. */
  listen(): Promise<number>;
  /** Ends every connection. */
  close(): Promise<void>;
}

/** Time for a client to send its request, and for a place to answer a connection. Milliseconds. */
const headMs = 30_000;
const connectMs = 15_000;

/** Creates an HTTP proxy: `CONNECT`, and plain `http` requests, one a connection, to checked addresses alone. */
export function createEgress(options: EgressOptions): Egress {
  const open = new Set<Socket>();
  let server: Server | null = null;
  let isClosed = false;
  const admit = (client: Socket): boolean => {
    if (!isClosed && open.size < options.most) return keep(open, client);
    client.destroy();
    return false;
  };
  const take = (client: Socket) => {
    if (admit(client)) serve(client, options, open).catch((error: unknown) => refuse(client, error));
  };
  return {
    take,
    tunnel(client, port) {
      if (admit(client)) reach(client, { port, options, open }).catch(() => client.destroy());
    },
    async listen() {
      server = createServer({ allowHalfOpen: true }, take).listen(0, "127.0.0.1");
      await once(server, "listening");
      // A session's end must not wait for it.
      server.unref();
      return (server.address() as AddressInfo).port;
    },
    async close() {
      isClosed = true;
      const closed = server && new Promise<void>((resolve) => server?.close(() => resolve()));
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}

function keep(open: Set<Socket>, socket: Socket): true {
  open.add(socket);
  socket.on("error", () => socket.destroy());
  socket.once("close", () => open.delete(socket));
  return true;
}

async function reach(
  client: Socket,
  { port, options, open }: { port: number; options: EgressOptions; open: Set<Socket> },
): Promise<void> {
  const { addresses } = await options.route(new URL(`https://127.0.0.1:${port}`));
  const far = await connectTo(addresses, { open: (host) => openFarEnd({ host, port }), event: "connect" });
  keep(open, far.socket);
  far.join(client);
}

async function serve(client: Socket, options: EgressOptions, open: Set<Socket>): Promise<void> {
  const { head, rest } = await readHead(client);
  const [, name, below = ""] = /^\/([\w-]+)(.*)$/.exec(head.target) ?? [];
  const endpoint = name === undefined ? undefined : options.endpoint?.(name);
  if (endpoint !== undefined) {
    const request = toEndpoint(head, { endpoint, below });
    return await serveModel(client, { head, below, request, endpoint, rest, options, open });
  }
  if (options.refuseService !== undefined && dockerPath.test(head.target)) {
    const { message } = options.refuseService("docker");
    return answer(client, { status: 403, text: JSON.stringify({ message }), type: "application/json" });
  }
  if (!isAuthorized(head, options.token)) {
    return answer(client, { status: 407, text: "This proxy is another session's." });
  }
  const target = targetOf(head);
  const { addresses, port } = await options.route(target);
  const far = await connectTo(addresses, { open: (host) => openFarEnd({ host, port }), event: "connect" });
  keep(open, far.socket);
  if (head.method === "CONNECT") client.write("HTTP/1.1 200 Connection established\r\n\r\n");
  else far.socket.write(rewritten(head, target));
  if (rest.length > 0) far.socket.write(rest);
  far.join(client);
}

/** How Docker's clients begin every path. */
const dockerPath = /^\/(?:_ping|v\d+\.\d+\/)/;

interface ServedModel {
  /** As the client sent it. */
  head: RequestHead;
  below: string;
  request: EndpointRequest;
  endpoint: EgressEndpoint;
  /** Bytes that came after the head. */
  rest: Buffer;
  options: EgressOptions;
  open: Set<Socket>;
}

async function serveModel(
  client: Socket,
  { head: { method, headers }, below, request: { head, url }, endpoint, rest, options, open }: ServedModel,
): Promise<void> {
  // A model may let a client wait that asks whether to send its body: all of them get it.
  if (head.version === "1.1" && valuesOf(headers, "expect").length > 0) client.write("HTTP/1.1 100 Continue\r\n\r\n");
  const { followers, answer } = beginWires(endpoint, { method, headers, path: below });
  client.once("close", () => followers.ended(false));
  const passed = {
    request: head,
    rest,
    followers,
    cover: coverOf(endpoint),
    refuse: (error: unknown) => refuse(client, error),
  };
  if (answer !== null) return await answerInstead(client, answer, passed);
  const socket = await connectModel(url, { endpoint, options }).catch(async (error: unknown) => {
    await showUnsent(client, passed);
    throw error;
  });
  keep(open, socket);
  socket.write(rewritten(head, url), "latin1");
  joinCovered(client, socket, passed);
}

async function connectModel(
  url: URL,
  { endpoint, options }: Pick<ServedModel, "endpoint" | "options">,
): Promise<Socket> {
  const { addresses, port } = await options.route(url, endpoint);
  const isEncrypted = url.protocol === "https:";
  const name = url.hostname.replace(/\.$|[[\]]/g, "");
  const { socket } = await connectTo(addresses, {
    open: (host) => ({
      socket: isEncrypted ? openEncrypted({ host, port, name }) : connect({ host, port, allowHalfOpen: true }),
    }),
    event: isEncrypted ? "secureConnect" : "connect",
  });
  return socket;
}

const covers = new WeakMap<EgressEndpoint, Cover>();

function coverOf(endpoint: EgressEndpoint): Cover {
  const cover = covers.get(endpoint) ?? createCover(endpoint.keys.map(({ key }) => key));
  covers.set(endpoint, cover);
  return cover;
}

/** Reads up to the empty line; what follows it belongs to the body, or to the tunnel. */
function readHead(client: Socket): Promise<{ head: RequestHead; rest: Buffer }> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0);
    const stop = () => {
      clearTimeout(timer);
      client.off("data", take).off("end", early).off("close", early);
      client.pause();
    };
    const fail = (message: string) => {
      stop();
      reject(new BulkheadError("invalid_request", message));
    };
    const early = () => fail("The request ended early.");
    const timer = setTimeout(() => fail("The request took too long."), headMs);
    const take = (piece: Buffer) => {
      bytes = Buffer.concat([bytes, piece]);
      const end = bytes.indexOf("\r\n\r\n");
      if (end < 0 && bytes.length > maxHeadBytes || end > maxHeadBytes) return fail("The request's head is too long.");
      if (end < 0) return;
      const head = parseRequestHead(bytes.toString("latin1", 0, end));
      if (head === null) return fail("The request is not one to a proxy.");
      stop();
      resolve({ head, rest: bytes.subarray(end + 4) });
    };
    client.on("data", take).on("end", early).on("close", early);
  });
}

function isAuthorized({ headers }: RequestHead, token: string): boolean {
  const sent = headers.find(([name]) => name.toLowerCase() === "proxy-authorization")?.[1] ?? "";
  const [, encoded = ""] = /^basic +([\w+/=-]+)\s*$/i.exec(sent) ?? [];
  const password = Buffer.from(encoded, "base64").toString("latin1").replace(/^[^:]*:/, "");
  const [given, wanted] = [Buffer.from(password), Buffer.from(token)];
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

/** `host:port`, or one of both: no other characters, which two readers could take for other ends of a name. */
const authority = /^(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/** @throws {BulkheadError} `invalid_request` */
function targetOf({ method, target }: RequestHead): URL {
  const [, scheme, place = ""] = /^(http:\/\/)?([^/?#]*)/i.exec(target) ?? [];
  const isKnown = authority.test(place) &&
    (method === "CONNECT" ? place === target && /:\d+$/.test(place) : scheme !== undefined);
  const url = isKnown ? readUrl(method === "CONNECT" ? `https://${target}` : target) : null;
  if (url !== null) return url;
  throw new BulkheadError("invalid_request", "The request names no place that can be reached through this proxy.");
}

/** Headers that are between the client and this proxy, or that a far end could read as another place. */
const dropped = new Set(["connection", "host", "keep-alive", "proxy-authorization", "proxy-connection", "upgrade"]);

function rewritten({ method, version, headers }: RequestHead, { pathname, search, host }: URL): string {
  const kept = headers.filter(([name]) => !dropped.has(name.toLowerCase()));
  const lines = [["Host", host], ...kept, ["Connection", "close"]].map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${pathname}${search} HTTP/${version}\r\n${lines.join("")}\r\n`;
}

/** The first address that answers. */
async function connectTo<T extends { socket: Socket }>(
  addresses: readonly string[],
  { open, event }: { open(host: string): T; event: "connect" | "secureConnect" },
): Promise<T> {
  let why: unknown;
  for (const host of addresses) {
    const far = open(host);
    const { socket } = far;
    const timer = setTimeout(() => socket.destroy(new Error("it did not answer in time")), connectMs);
    try {
      await once(socket, event);
      return far;
    } catch (error) {
      why = error;
      socket.destroy();
    } finally {
      clearTimeout(timer);
    }
  }
  const reason = why instanceof Error ? why.message : "it has no address";
  throw new BulkheadError("network_error", `Cannot connect: ${reason}.`, { cause: why });
}

/** Encrypted to a server that proves to have the name. */
function openEncrypted({ host, port, name }: { host: string; port: number; name: string }): Socket {
  const servername = isIP(name) === 0 ? { servername: name } : {};
  return connectTls({ host, port, ALPNProtocols: ["http/1.1"], ...servername });
}

function refuse(client: Socket, error: unknown): void {
  const known = error instanceof BulkheadError ? error : null;
  const status = statuses[known?.code ?? "internal"] ?? 502;
  const text = known === null ? "The proxy failed." : [known.message, known.hint].filter(Boolean).join("\n");
  answer(client, { status, text });
}

const statuses: { readonly [code in ErrorCode]?: number } = {
  permission_denied: 403,
  invalid_request: 400,
  // A budget is spent: programs end on this status, while they try again after others.
  limit_exceeded: 400,
};

const reasons: Readonly<Record<number, string>> = {
  400: "Bad Request",
  403: "Forbidden",
  407: "Proxy Authentication Required",
  502: "Bad Gateway",
};

function answer(
  client: Socket,
  { status, text, type = "text/plain; charset=utf-8" }: { status: number; text: string; type?: string },
): void {
  if (client.destroyed) return;
  const body = Buffer.from(`${text}\n`);
  const challenge = status === 407 ? 'Proxy-Authenticate: Basic realm="bulkhead"\r\n' : "";
  client.resume();
  client.end(Buffer.concat([
    Buffer.from(
      `HTTP/1.1 ${status} ${reasons[status]}\r\n${challenge}Content-Type: ${type}\r\n` +
        `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n`,
    ),
    body,
  ]));
}
