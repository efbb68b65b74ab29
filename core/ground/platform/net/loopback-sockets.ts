import { createServer } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { onLoopback } from "./loopback-server.ts";

/** One end of a WebSocket that a loopback server has accepted. */
export interface LoopbackSocket {
  /** The requested path, from the first slash on. */
  path: string;
  send(message: string | Uint8Array): void;
  ping(): void;
}

/** A WebSocket server in this process, reachable from this machine only. */
export interface LoopbackSockets {
  port: number;
  open(): number;
  close(): Promise<void>;
}

/** Starts a WebSocket server on any free port of 127.0.0.1. */
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
  const { port, close } = await onLoopback(server);
  return {
    port,
    open: () => accepted.size,
    close: () => {
      for (const socket of accepted) socket.terminate();
      return close();
    },
  };
}
