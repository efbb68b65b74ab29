import { createServer } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";

/** One end of a WebSocket that a loopback server has accepted. */
export interface LoopbackSocket {
  /** What the client asked for, from the first slash on. */
  path: string;
  send(message: string | Uint8Array): void;
  ping(): void;
}

/** A server of WebSockets of this process's own, for this machine only. */
export interface LoopbackSockets {
  port: number;
  /** How many are open now. */
  open(): number;
  close(): Promise<void>;
}

/** Starts a server of WebSockets on any free port of 127.0.0.1. */
export async function startLoopbackSockets(talk: (socket: LoopbackSocket) => void): Promise<LoopbackSockets> {
  const server = createServer();
  const sockets = new WebSocketServer({ noServer: true });
  const accepted = new Set<WebSocket>();
  server.on("upgrade", (request, stream: Duplex, head) =>
    sockets.handleUpgrade(request, stream, head, (socket) => {
      accepted.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => accepted.delete(socket));
      talk({ path: request.url ?? "", send: (message) => socket.send(message), ping: () => socket.ping() });
    }));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    open: () => accepted.size,
    close: () => {
      for (const socket of accepted) socket.terminate();
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
