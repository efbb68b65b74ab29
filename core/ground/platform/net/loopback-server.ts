import { listening, portOf } from "./listening.ts";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSocketServer } from "node:net";
import { gzipSync } from "node:zlib";

/** A request to a loopback server; names of headers in lower case. */
export interface LoopbackRequest {
  method: string;
  path: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** Answer of a loopback server: whole, or in pieces until they end or the client disconnects. */
export interface LoopbackAnswer {
  status?: number;
  headers?: Record<string, string>;
  body?: string | Uint8Array | AsyncIterable<string>;
}

/** A web server in this process, reachable from this machine only. */
interface LoopbackServer {
  port: number;
  requests: LoopbackRequest[];
  close(): Promise<void>;
}

/** Starts a web server on any free port of 127.0.0.1. An answer of null is never sent: the client waits. */
export async function startLoopback(
  answer: (request: LoopbackRequest) => LoopbackAnswer | null,
): Promise<LoopbackServer> {
  const requests: LoopbackRequest[] = [];
  const server = createServer((incoming: IncomingMessage, response: ServerResponse) => {
    const request = { method: incoming.method ?? "", path: incoming.url ?? "", headers: incoming.headers };
    requests.push(request);
    const answered = answer(request);
    if (answered !== null) void send(response, answered);
  });
  return { ...await onLoopback(server), requests };
}

/** Lets a server listen on any free port of 127.0.0.1. Closing it cuts open connections. */
export async function onLoopback(server: Server): Promise<Pick<LoopbackServer, "port" | "close">> {
  await listening(server, { port: 0, host: "127.0.0.1" });
  return {
    port: portOf(server),
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

async function send(response: ServerResponse, { status = 200, headers = {}, body = "" }: LoopbackAnswer) {
  response.on("error", () => {});
  response.writeHead(status, headers);
  if (typeof body === "string" || body instanceof Uint8Array) return void response.end(body);
  for await (const piece of body) {
    if (response.destroyed) return;
    if (!response.write(piece)) await drained(response);
  }
  response.end();
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.on("drain", done);
    response.on("close", done);
  });
}

/** Puts a listening socket into the file system; returns its removal. */
export async function listenAt(path: string): Promise<() => Promise<void>> {
  const server = createSocketServer((socket) => socket.destroy());
  await listening(server, { path });
  return () => new Promise((resolve) => server.close(() => resolve()));
}

/** Packs so many mebibytes of zeros, each to about a kibibyte (RFC 1952: members may follow each other). */
export function zipBomb(mebibytes: number): Uint8Array {
  const member = gzipSync(new Uint8Array(1024 * 1024));
  const bomb = new Uint8Array(member.length * mebibytes);
  for (let index = 0; index < mebibytes; index++) bomb.set(member, index * member.length);
  return bomb;
}
