import type { Buffer } from "node:buffer";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { createEgress, type Egress } from "../../../core/walls/agent/egress-server.ts";
import { afterEveryTest } from "../../clean-up.ts";
import type { Wire } from "../../../core/walls/agent/wire.ts";

export const key = "sk-ant-api03-the-real-key-of-the-person";
export const placeholder = "sk-ant-api03-0123456789abcdef0123456789abcdef";

const servers: Server[] = [];
const egresses: Egress[] = [];
const sockets: Socket[] = [];
afterEveryTest(async () => {
  for (const egress of egresses.splice(0)) await egress.close();
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

export interface Model {
  /** Every request's head and body, as they came. */
  seen: string[];
  port: number;
  /** Sends text by way of the proxy and returns all that comes back. */
  send(text: string): Promise<string>;
  open(text: string): Promise<Socket>;
}

/** A model behind the endpoint `/model`, below `/base`; it answers each head by what `reply` does. */
export async function openModel(
  reply: (socket: Socket, head: string) => unknown,
  { base = "/base", wires = [], isThere = true }: { base?: string; wires?: readonly Wire[]; isThere?: boolean } = {},
): Promise<Model> {
  const seen: string[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    socket.once("data", (piece: Uint8Array) => {
      seen.push(String(piece));
      socket.on("data", (more: Uint8Array) => seen[seen.length - 1] += String(more));
      reply(socket, String(piece));
    });
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  if (!isThere) server.close();
  const endpoint = { url: new URL(`http://127.0.0.1:${port}${base}`), keys: [{ placeholder, key }], wires };
  const egress = createEgress({
    token: "token",
    most: 64,
    route: () => Promise.resolve({ addresses: ["127.0.0.1"], port }),
    endpoint: (name) => name === "model" ? endpoint : undefined,
  });
  egresses.push(egress);
  const proxy = await egress.listen();
  const open = async (text: string) => {
    const client = connect({ port: proxy, host: "127.0.0.1", allowHalfOpen: true });
    sockets.push(client);
    client.on("error", () => {});
    await once(client, "connect");
    client.write(text, "latin1");
    return client;
  };
  const send = async (text: string) => {
    const client = await open(text);
    let all = "";
    for await (const piece of client) all += (piece as Buffer).toString("latin1");
    return all;
  };
  return { seen, port, send, open };
}

export const ok = (socket: Socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
export const request = (target: string, fields: Record<string, string> = {}, method = "GET") =>
  `${method} ${target} HTTP/1.1\r\nHost: x\r\n${
    Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`).join("")
  }\r\n`;

/** Body of an answer, out of its chunks. */
export function bodyOf(answer: string): string {
  const body = answer.slice(answer.indexOf("\r\n\r\n") + 4);
  if (!/^transfer-encoding: chunked\r$/im.test(answer)) return body;
  let text = "";
  for (let at = 0;;) {
    const end = body.indexOf("\r\n", at);
    const size = parseInt(body.slice(at, end), 16);
    if (size === 0 || Number.isNaN(size)) return text;
    text += body.slice(end + 2, end + 2 + size);
    at = end + 4 + size;
  }
}
