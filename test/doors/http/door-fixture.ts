import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEveryTest } from "../../clean-up.ts";
import { connectHost, type RemoteHost } from "../../../core/doors/client/mod.ts";
import { defaultLimits, type Limits } from "../../../core/ground/config/limits.ts";
import { createHttpDoor, type HttpDoor } from "../../../core/doors/http/door.ts";
import type { Mount } from "../../../core/doors/http/door-options.ts";
import type { TokenScope } from "../../../core/doors/http/scopes.ts";
import { openSessionOwners } from "../../../core/doors/http/session-owners.ts";
import { openTokens, type TokenStore } from "../../../core/doors/http/tokens.ts";
import type { LogRecord } from "../../../core/ground/log/log-record.ts";
import type { SessionHost } from "../../../core/sessions/host/session-host.ts";
import type { HostWorkspaces } from "../../../core/sessions/host/state/workspaces.ts";
import { type HttpServer, type ListenAt, startHttpServer } from "../../../core/ground/platform/net/http-server.ts";
import { unixFetch } from "../../../core/ground/platform/net/unix-fetch.ts";
import { memoryFacts, MemoryHost } from "./memory-host.ts";

/** A door behind real servers, on a port and on a socket, with what stands behind it. */
export interface OpenDoor {
  url: string;
  port: number;
  socket: string;
  folder: string;
  sessions: MemoryHost;
  facts: ReturnType<typeof memoryFacts>;
  tokens: TokenStore;
  door: HttpDoor;
  servers: HttpServer[];
  logs: LogRecord[];
  /** Closes the socket's server, cuts off its clients, and opens it again. */
  reopenSocket(): Promise<void>;
  token(...scopes: TokenScope[]): Promise<string>;
  /** The owner's line of an HTTP request's head. */
  bearer(): Promise<string>;
  /** A request of the owner's over the socket. */
  local(input: string | URL, init?: RequestInit): Promise<Response>;
  /** A client over TCP with a token of these scopes; without any, the owner's over the socket. */
  client(...scopes: TokenScope[]): Promise<RemoteHost>;
}

const opened: { end(): Promise<void> }[] = [];

/** Closes every door of the test. */
export async function closeDoors(): Promise<void> {
  for (const { end } of opened.splice(0).reverse()) await end();
}

afterEveryTest(closeDoors);

/** Opens a door for sessions that a test makes up. */
export async function openDoor(
  options: {
    limits?: Partial<Limits>;
    sessions?: SessionHost;
    workspaces?: HostWorkspaces;
    mounts?: Mount[];
    addresses?: string[];
  } = {},
): Promise<OpenDoor> {
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-http-"));
  const limits = { ...defaultLimits, ...options.limits };
  const sessions = new MemoryHost();
  const facts = memoryFacts();
  facts.workspaces = options.workspaces ?? facts.workspaces;
  const tokens = openTokens(folder);
  const logs: LogRecord[] = [];
  let port = 0;
  const door = createHttpDoor({
    sessions: options.sessions ?? sessions,
    facts,
    tokens,
    owners: await openSessionOwners(folder),
    hosts: () => [`127.0.0.1:${port}`, `localhost:${port}`, ...options.addresses ?? []],
    limits,
    ...(options.mounts === undefined ? {} : { mounts: options.mounts }),
    writeLog: (record) => void logs.push(record),
  });
  const serverLimits = {
    header_bytes: limits.http_header_bytes,
    connections: limits.http_connections,
    header_timeout_ms: limits.http_header_timeout_ms,
    request_timeout_ms: limits.http_request_timeout_ms,
    stall_timeout_ms: limits.http_stall_timeout_ms,
  };
  const socket = join(folder, "socket");
  const serve = (at: ListenAt) =>
    startHttpServer({ at, limits: serverLimits, answer: (request, from) => door.fetch(request, from) });
  const servers = [
    await serve({ kind: "tcp", host: "127.0.0.1", port: 0 }),
    await serve({ kind: "unix", path: socket }),
  ];
  if (servers[0]!.at.kind === "tcp") port = servers[0]!.at.port;
  const end = async () => {
    door.close();
    sessions.endAll();
    await Promise.all(servers.map((server) => server.close()));
    await rm(folder, { recursive: true, force: true });
  };
  opened.push({ end });
  const url = `http://127.0.0.1:${port}`;
  let made = 0;
  const token = async (...scopes: TokenScope[]) => (await tokens.create({ name: `t${++made}`, scopes })).token;
  return {
    url,
    port,
    socket,
    folder,
    sessions,
    facts,
    tokens,
    door,
    servers,
    logs,
    async reopenSocket() {
      await servers[1]!.close();
      servers[1] = await serve({ kind: "unix", path: socket });
    },
    token,
    bearer: async () => `Authorization: Bearer ${(await tokens.first()).token}\r\n`,
    async local(input, { headers, ...init } = {}) {
      const { token: first } = await tokens.first();
      const all = new Headers(headers);
      if (!all.has("authorization")) all.set("authorization", `Bearer ${first}`);
      return await unixFetch(socket)(input, { ...init, headers: all });
    },
    client: async (...scopes) =>
      scopes.length === 0
        ? connectHost({ fetch: unixFetch(socket), token: (await tokens.first()).token, patienceMs: 10_000 })
        : connectHost({ url, token: await token(...scopes), patienceMs: 10_000 }),
  };
}
