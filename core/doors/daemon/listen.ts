import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Limits } from "../../ground/config/limits.ts";
import { mkdir } from "../../ground/platform/files/files.ts";
import {
  type HttpServer,
  type HttpServerOptions,
  type RequestSource,
  startHttpServer,
} from "../../ground/platform/net/http-server.ts";
import { whoElseMayChange } from "../../ground/platform/files/own-folder.ts";
import { dirname } from "../../ground/platform/files/paths.ts";
import { within } from "../../ground/platform/engine/within.ts";

/** Addresses of a daemon. */
export interface Listening {
  /** Base address over TCP. */
  address: string;
  /** Path of the unix socket; null where there is none. */
  socket: string | null;
  /** Why there is no socket, a sentence for each place; empty with one. */
  noSocket: readonly string[];
  /** Hosts that a request over TCP may name. */
  hosts: string[];
  /** The holder of the port that was wanted, where any free one was taken; null: it is that port. */
  portOf: string | null;
  close(options?: { graceMs?: number }): Promise<void>;
}

interface ListenOptions {
  port: number;
  /** Takes any free port where that one is busy. Default false: it fails. */
  mayMove?: boolean;
  /** Addresses at which the operator lets programs come in, as through a forwarded port. */
  addresses?: readonly string[];
  /** Candidate paths for the unix socket, the best first. */
  sockets: readonly string[];
  limits: Limits;
  answer(request: Request, from: RequestSource): Promise<Response>;
  /** As of `startHttpServer`. */
  onStall(path: string): void;
}

/**
 * Listens on 127.0.0.1 and on the unix socket; creates the socket's folder where it is missing.
 * @throws {BulkheadError} `busy` for a port that another program has, `io_error`
 */
export async function listen(
  { port, mayMove = false, addresses = [], sockets, limits, answer, onStall }: ListenOptions,
): Promise<Listening> {
  const common = { answer, onStall, limits: serverLimits(limits) };
  const servers: HttpServer[] = [];
  const close = async (options?: { graceMs?: number }) => {
    await Promise.allSettled(servers.map((server) => server.close(options)));
  };
  try {
    const listenAt = (at: number) => startHttpServer({ ...common, at: { kind: "tcp", host: "127.0.0.1", port: at } });
    let portOf: string | null = null;
    const tcp = await listenAt(port).catch(async (error: unknown) => {
      if (!isBusy(error)) throw error;
      portOf = await answersAsBulkhead(port) ? ourKind : "another program";
      if (!mayMove) throw portError(port, { portOf, cause: error });
      return await listenAt(0);
    });
    servers.push(tcp);
    const noSocket: string[] = [];
    const unix = await listenAtFirst(sockets, { ...common, refused: (reason) => noSocket.push(reason) });
    if (unix !== null) servers.push(unix.server);
    const got = tcp.at.kind === "tcp" ? tcp.at.port : port;
    return {
      address: `http://127.0.0.1:${got}`,
      socket: unix?.socket ?? null,
      noSocket: unix === null ? noSocket : [],
      hosts: [`127.0.0.1:${got}`, `localhost:${got}`, ...addresses],
      portOf,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Listens on the first usable path; null where none works. `XDG_RUNTIME_DIR` may be another user's, or be gone. */
async function listenAtFirst(
  sockets: readonly string[],
  { refused, ...common }: Pick<HttpServerOptions, "answer" | "limits" | "onStall"> & { refused(reason: string): void },
): Promise<{ socket: string; server: HttpServer } | null> {
  for (const socket of sockets) {
    const folder = dirname(socket);
    if (new TextEncoder().encode(socket).length > socketPathBytes) {
      refused(`"${socket}" is longer than a socket's path may be, ${socketPathBytes} bytes`);
      continue;
    }
    const isThere = await mkdir(folder, { recursive: true, mode: 0o700 }).then(() => true, () => false);
    if (!isThere || (await whoElseMayChange(folder)) !== null) {
      refused(`"${folder}" is no folder of this user's alone`);
      continue;
    }
    const server = await startHttpServer({ ...common, at: { kind: "unix", path: socket } }).catch(
      reasonWhereUnfit(socket),
    );
    if (typeof server !== "string") return { socket, server };
    refused(`"${socket}": ${server}`);
  }
  return null;
}

/** A socket's address holds 104 bytes on macOS and 108 on Linux; the last must be zero. */
const socketPathBytes = 103;

function reasonWhereUnfit(socket: string): (error: unknown) => string {
  return (cause) => {
    if (cause instanceof BulkheadError && cause.code === "io_error") return cause.message;
    if (!(cause instanceof BulkheadError) || cause.code !== "busy") throw cause;
    throw new BulkheadError("busy", `Cannot start the daemon: another program listens at "${socket}".`, {
      hint: "It may be a daemon in another container. Stop it there, or name another folder with --state-dir.",
      details: { socket },
      cause,
    });
  };
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

const ourKind = "another Bulkhead";

function isBusy(error: unknown): boolean {
  return error instanceof BulkheadError && error.code === "busy";
}

function portError(port: number, { portOf, cause }: { portOf: string; cause: unknown }): BulkheadError {
  return new BulkheadError("busy", `Cannot start the daemon: ${portOf} has port ${port} of 127.0.0.1.`, {
    hint: portOf === ourKind
      ? "It has another state folder. Take any free port: --port 0, or daemon: { port: 0 } in bulkhead.yaml."
      : "Stop that program, or choose another port with --port or daemon.port in bulkhead.yaml; 0 is any free one.",
    details: { port },
    cause,
  });
}

/** How long the program that has the port may take to say who it is. Milliseconds. */
const introductionMs = 1000;

/** Asks the program that has the port; any failure, and silence, means no. */
async function answersAsBulkhead(port: number): Promise<boolean> {
  let isOurs = false;
  const asked = fetch(`http://127.0.0.1:${port}/health`, {
    signal: AbortSignal.timeout(introductionMs),
    redirect: "error",
  }).then(async (response) => {
    const answer: unknown = await response.json();
    isOurs = typeof answer === "object" && answer !== null && "program" in answer && answer.program === "bulkhead";
  }).catch(() => {});
  // A connection that is cut off may keep nothing alive: without this wait the process would end here.
  await within(asked, introductionMs);
  return isOurs;
}
