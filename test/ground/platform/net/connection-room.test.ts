import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { type HttpServer, startHttpServer } from "../../../../core/ground/platform/net/http-server.ts";

const most = 16;
const sockets: Socket[] = [];
let server: HttpServer;

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.close();
});

async function listen(answer: () => Promise<Response> = async () => new Response("here")): Promise<number> {
  server = await startHttpServer({
    at: { kind: "tcp", host: "127.0.0.1", port: 0 },
    limits: {
      header_bytes: 8192,
      connections: most,
      header_timeout_ms: 60_000,
      request_timeout_ms: 60_000,
      stall_timeout_ms: 60_000,
    },
    answer,
  });
  return server.at.kind === "tcp" ? server.at.port : 0;
}

/** A connection that says only this. */
async function say(port: number, text = ""): Promise<Socket> {
  const socket = connect(port, "127.0.0.1").on("error", () => {});
  sockets.push(socket);
  await once(socket, "connect");
  if (text !== "") socket.write(text);
  return socket;
}

const request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

async function answerTo(port: number): Promise<string> {
  const socket = await say(port, request);
  const [first] = await Promise.race([once(socket, "data"), once(socket, "close").then(() => ["closed"])]);
  return String(first).split("\r\n")[0]!;
}

test("a server full of connections that say nothing, or half a request, serves a fresh client at once", async () => {
  const port = await listen();
  const slow: Socket[] = [];
  for (let index = 0; index < most * 3; index++) slow.push(await say(port, index % 2 === 0 ? "" : "GET / HT"));
  const gone = once(slow.at(-most)!, "close");
  const began = performance.now();
  expect(await answerTo(port)).toBe("HTTP/1.1 200 OK");
  expect(performance.now() - began).toBeLessThan(1000);
  // The one that had been silent for the longest made room.
  await gone;
  expect(slow.slice(0, -most).every(({ destroyed, closed }) => destroyed || closed)).toBe(true);
  expect(slow.at(-1)!.closed).toBe(false);
  expect(await server.connections()).toBeLessThanOrEqual(most);
});

test("a client that keeps its connection after an answer makes room, the longest idle one first", async () => {
  const port = await listen();
  const kept = [];
  for (let index = 0; index < most; index++) {
    const socket = await say(port, request);
    await once(socket, "data");
    kept.push(socket);
  }
  const gone = once(kept[0]!, "close");
  expect(await answerTo(port)).toBe("HTTP/1.1 200 OK");
  await gone;
  expect(kept[1]!.closed).toBe(false);
});

test("connections that are being served are never closed for another", async () => {
  let release = () => {};
  const waiting = new Promise<void>((resolve) => release = resolve);
  let served = 0;
  const port = await listen(async () => {
    served++;
    await waiting;
    return new Response("late");
  });
  const busy: Socket[] = [];
  for (let index = 0; index < most; index++) busy.push(await say(port, request));
  await expect.poll(() => served).toBe(most);
  expect(await answerTo(port)).toBe("closed");
  const answers = Promise.all(busy.map((socket) => once(socket, "data")));
  release();
  expect((await answers).map(([data]) => String(data).split("\r\n")[0])).toEqual(Array(most).fill("HTTP/1.1 200 OK"));
});
