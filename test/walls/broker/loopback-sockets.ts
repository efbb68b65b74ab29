import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { afterEveryTest } from "../../clean-up.ts";
import { type WebSocket, WebSocketServer } from "ws";

/** A server of WebSockets on loopback that is gone after the test. */
export interface LoopbackSockets {
  /** `127.0.0.1:port`. */
  target: string;
  url: string;
  /** What asked to be upgraded. */
  requests: IncomingMessage[];
  /** Requests for anything but a WebSocket. */
  others: string[];
  /** Connections that are open now, upgraded or not. */
  connections(): number;
}

interface SocketsOptions {
  /** Takes part in the opening in place of the server; the stream is already free of it. */
  upgrade?: (request: IncomingMessage, stream: Duplex) => void;
  /** Talks over a WebSocket. */
  talk?: (socket: WebSocket, request: IncomingMessage) => void;
  server?: Server;
}

const open: (() => Promise<void>)[] = [];

afterEveryTest(async () => {
  for (const close of open.splice(0)) await close();
});

/** Starts a server on any free port. */
export async function serveSockets(
  { upgrade, talk, server = createServer() }: SocketsOptions,
): Promise<LoopbackSockets> {
  const requests: IncomingMessage[] = [];
  const others: string[] = [];
  const streams = new Set<Duplex>();
  const sockets = new WebSocketServer({ noServer: true });
  server.on("connection", (stream: Duplex) => {
    streams.add(stream);
    stream.on("error", () => {});
    stream.on("close", () => streams.delete(stream));
  });
  server.on("request", (request, response) => {
    others.push(request.url ?? "");
    response.end();
  });
  server.on("upgrade", (request, stream: Duplex, head) => {
    requests.push(request);
    if (upgrade) {
      // Unread, it would not see that the other side has gone, and by itself it does not go as well.
      stream.on("end", () => stream.end());
      return upgrade(request, stream.resume());
    }
    sockets.handleUpgrade(request, stream, head, (socket) => {
      socket.on("error", () => {});
      talk?.(socket, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push(async () => {
    for (const stream of streams) stream.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const target = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { target, url: `ws://${target}`, requests, others, connections: () => streams.size };
}
