// Opens the ports of a network of its own, bundled to `dist/walls/network.js`.
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import process from "node:process";
import { openFarEnd, socketsInside } from "./join-sockets.ts";

/**
 * Listens at the ports of the command line, on the loopback of a network that has nothing else, and says its pid. A
 * runtime that can hand the host its open ports is gone a moment later; the other one joins each client to the host's
 * socket for that port until the host closes its input.
 */
async function openPorts(): Promise<void> {
  const ports = process.argv.slice(2).map(Number);
  for (const port of ports) await openPort(port);
  process.stdout.write(`${process.pid}\n`);
  process.stdin.resume();
  await once(process.stdin, "end");
  process.exit();
}

async function openPort(port: number): Promise<void> {
  const { send } = process;
  const server = createServer({ allowHalfOpen: true }, (client) => toHost(client, port));
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  if (send !== undefined) await handOver(server, port);
}

async function handOver(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    process.send?.(port, server, {}, (error: Error | null) => error === null ? resolve() : reject(error));
  });
  // Both would take clients.
  server.close();
}

function toHost(client: Socket, port: number): void {
  const far = openFarEnd({ path: `${socketsInside}/${port}` });
  for (const [one, other] of [[client, far.socket], [far.socket, client]] as const) {
    one.on("error", () => other.destroy());
  }
  client.once("close", () => far.socket.destroy());
  far.socket.once("connect", () => far.join(client));
}

await openPorts();
