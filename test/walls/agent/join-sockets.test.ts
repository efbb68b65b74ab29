import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { openFarEnd } from "../../../core/walls/agent/join-sockets.ts";

const servers: Server[] = [];
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

async function serve(take: (socket: Socket) => void): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    take(socket);
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** A client whose bytes go to a far end by way of `openFarEnd`. */
async function throughTo(far: (socket: Socket) => void): Promise<Socket> {
  const farPort = await serve(far);
  const port = await serve((client) => {
    const end = openFarEnd({ port: farPort, host: "127.0.0.1" });
    sockets.push(end.socket);
    end.socket.on("error", () => client.destroy());
    // Later than the first word of the far end, which must be kept.
    end.socket.once("connect", () => setTimeout(() => end.join(client), 20));
  });
  const client = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  sockets.push(client);
  await once(client, "connect");
  return client;
}

/** Bytes of which no piece is like another, so that a buffer used too early shows. */
function numbered(bytes: number): Buffer {
  const numbers = Uint32Array.from({ length: bytes / 4 }, (_, at) => at);
  return Buffer.from(numbers.buffer);
}

const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

test("openFarEnd: what is sent either way arrives as it was, also with a reader that pauses", async () => {
  const sent = numbered(8_000_000);
  const upward: Uint8Array[] = [];
  const client = await throughTo((far) => {
    far.write("first word");
    far.on("data", (piece: Uint8Array) => upward.push(piece));
    far.on("end", () => far.end(sent));
  });
  const downward: Uint8Array[] = [];
  client.on("data", (piece: Uint8Array) => {
    downward.push(piece);
    if (downward.length % 20 !== 0) return;
    client.pause();
    setTimeout(() => client.resume(), 2);
  });
  client.end(sent);
  await once(client, "end");
  expect(digest(Buffer.concat(upward))).toBe(digest(sent));
  expect(digest(Buffer.concat(downward))).toBe(digest(Buffer.concat([Buffer.from("first word"), sent])));
});

test("openFarEnd: a far end that sends without end waits for a client that does not read", async () => {
  let sent = 0;
  const piece = Buffer.alloc(1_000_000);
  const client = await throughTo((far) => {
    const more = () => {
      while (sent < 200_000_000 && far.write(piece)) sent += piece.length;
    };
    far.on("drain", more);
    more();
  });
  client.pause();
  let before = -1;
  while (before !== sent) {
    before = sent;
    await pause(150);
  }
  // The system's own buffers take some; the program holds one buffer.
  expect(sent).toBeLessThan(100_000_000);
});

test("openFarEnd: the end of either side ends the other", async () => {
  const seen: string[] = [];
  const client = await throughTo((far) => far.resume().on("end", () => void far.end(void seen.push("far"))));
  client.resume().end();
  await once(client, "end");
  expect(seen).toEqual(["far"]);

  const other = await throughTo((far) => far.destroy());
  other.resume();
  await once(other, "end");
});
