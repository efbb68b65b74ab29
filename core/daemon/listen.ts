import { BulkheadError } from "../../plugin-sdk/errors.ts";
import type { Limits } from "../config/limits.ts";
import { mkdir } from "../runtime/files.ts";
import { type HttpServer, type RequestSource, startHttpServer } from "../runtime/http-server.ts";
import { dirname } from "../runtime/paths.ts";

/** Where a daemon is reached. */
export interface Listening {
  /** Base address over TCP. */
  address: string;
  /** Path of the unix socket; null where there is none. */
  socket: string | null;
  /** What a request over TCP may name as its host. */
  hosts: string[];
  close(options?: { graceMs?: number }): Promise<void>;
}

/** Options of {@link listen}. */
export interface ListenOptions {
  port: number;
  socket: string | null;
  limits: Limits;
  answer(request: Request, from: RequestSource): Promise<Response>;
}

/**
 * Listens on 127.0.0.1 and on the unix socket, whose folder is made where it is missing.
 * @throws {BulkheadError} `busy` for a port that another program has, `io_error`
 */
export async function listen({ port, socket, limits, answer }: ListenOptions): Promise<Listening> {
  const common = { answer, limits: serverLimits(limits) };
  const servers: HttpServer[] = [];
  const close = async (options?: { graceMs?: number }) => {
    await Promise.allSettled(servers.map((server) => server.close(options)));
  };
  try {
    const tcp = await startHttpServer({ ...common, at: { kind: "tcp", host: "127.0.0.1", port } }).catch(
      portError(port),
    );
    servers.push(tcp);
    if (socket !== null) {
      await mkdir(dirname(socket), { recursive: true, mode: 0o700 });
      servers.push(await startHttpServer({ ...common, at: { kind: "unix", path: socket } }));
    }
    const got = tcp.at.kind === "tcp" ? tcp.at.port : port;
    return {
      address: `http://127.0.0.1:${got}`,
      socket,
      hosts: [`127.0.0.1:${got}`, `localhost:${got}`],
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function serverLimits(limits: Limits): Parameters<typeof startHttpServer>[0]["limits"] {
  return {
    header_bytes: limits.http_header_bytes,
    connections: limits.http_connections,
    header_timeout_ms: limits.http_header_timeout_ms,
    request_timeout_ms: limits.http_request_timeout_ms,
    stall_timeout_ms: limits.http_stall_timeout_ms,
  };
}

function portError(port: number): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof BulkheadError) || error.code !== "busy") throw error;
    throw new BulkheadError("busy", `Cannot start the daemon: another program has port ${port} of 127.0.0.1.`, {
      hint: "Stop that program, or choose another port with --port or daemon.port in bulkhead.yaml; 0 is any free one.",
      details: { port },
      cause: error,
    });
  };
}
