import { createHash } from "node:crypto";
import { createServer as createSecureServer } from "node:https";
import type { Duplex } from "node:stream";
import { describe, expect, test } from "vitest";
import type { WebSocket } from "ws";
import type { SessionBroker, SessionBrokerOptions } from "../../../core/walls/broker/session-broker.ts";
import { defaultLimits, type Limits } from "../../../core/ground/config/limits.ts";
import { capabilities, codeOf, errorOf, makeBroker } from "./broker-fixture.ts";
import { selfSigned } from "./fixtures/self-signed.ts";
import { serveSockets } from "./loopback-sockets.ts";

function echo(socket: WebSocket): void {
  socket.on("message", (data) => socket.send(String(data)));
}

async function openSocket(broker: SessionBroker, url: string, options: object = {}): Promise<number> {
  const { socket_id } = await broker.call("socket_open", { url, options }) as { socket_id: number };
  return socket_id;
}

function send(broker: SessionBroker, socket_id: number, text: string): Promise<unknown> {
  return broker.call("socket_send", { socket_id, text });
}

function read(broker: SessionBroker, socket_id: number): Promise<string[] | null> {
  return broker.call("socket_read", { socket_id }) as Promise<string[] | null>;
}

function close(broker: SessionBroker, socket_id: number, code = 1000, reason = ""): Promise<unknown> {
  return broker.call("socket_close", { socket_id, code, reason });
}

async function readAll(broker: SessionBroker, socket_id: number): Promise<string[]> {
  const all: string[] = [];
  for (let batch = await read(broker, socket_id); batch !== null; batch = await read(broker, socket_id)) {
    for (const text of batch) all.push(text);
  }
  return all;
}

function makeNet(target: string, limits: Partial<Limits> = {}, changes: Partial<SessionBrokerOptions> = {}) {
  return makeBroker({ permissions: { net: [target] }, limits: { ...defaultLimits, ...limits }, ...changes });
}

/** Says yes to a WebSocket by hand. */
function accept(key: string | undefined, extra = ""): string {
  const digest = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
  const lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"];
  return `${[...lines, `Sec-WebSocket-Accept: ${digest}`].join("\r\n")}\r\n${extra}\r\n`;
}

/** Opens one to a server that then writes frames of its own making. */
async function openRaw(act: (stream: Duplex) => void, limits: Partial<Limits> = {}) {
  const server = await serveSockets({
    upgrade(request, stream) {
      stream.write(accept(request.headers["sec-websocket-key"]));
      act(stream);
    },
  });
  const { broker } = await makeNet(server.target, limits);
  return { broker, server, id: await openSocket(broker, server.url) };
}

describe("a WebSocket", () => {
  test("opens to a granted place and carries whole messages both ways", async () => {
    const server = await serveSockets({ talk: echo });
    const { broker, events } = await makeNet(server.target);
    const id = await openSocket(broker, `${server.url}/a?b#c`, { headers: { Authorization: "Bearer x" } });
    const long = "ä\u{1f600}".repeat(60_000);
    for (const text of ["one", "", long]) await send(broker, id, text);
    const got: string[] = [];
    while (got.length < 3) got.push(...await read(broker, id) ?? []);
    expect(got).toEqual(["one", "", long]);
    expect(server.requests[0]).toMatchObject({
      url: "/a?b",
      headers: { authorization: "Bearer x", host: server.target },
    });
    expect(server.requests[0]?.headers).not.toHaveProperty("sec-websocket-extensions");
    expect(capabilities(events)).toEqual([
      { type: "capability", permission: "net", target: server.target, decision: "allowed" },
    ]);
  });

  test.each([[undefined], [[]], [["127.0.0.1:1"]], [["*:80"]]])("is denied unless granted: %j", async (net) => {
    const server = await serveSockets({ talk: echo });
    const { broker, events } = await makeBroker({ permissions: net === undefined ? {} : { net } });
    expect(await errorOf(openSocket(broker, server.url))).toMatchObject({
      code: "permission_denied",
      hint: `bulkhead plugin grant acme net:${server.target}`,
    });
    expect(capabilities(events)).toMatchObject([{ target: server.target, decision: "denied" }]);
    expect(server.connections()).toBe(0);
  });

  test("has the ports of http and https", async () => {
    const { broker } = await makeBroker();
    for (const [url, target] of [["ws://h.example", "h.example:80"], ["wss://h.example/", "h.example:443"]] as const) {
      expect((await errorOf(openSocket(broker, url))).details?.["target"]).toBe(target);
    }
  });

  test.each(["http://127.0.0.1/", "https://127.0.0.1/", "ws+unix:/x", "file:///x", "//127.0.0.1/", "ws://", "x"])(
    "is not opened by the address %s",
    async (url) => {
      const { broker } = await makeBroker({ permissions: { net: ["127.0.0.1:80"] } });
      expect(await codeOf(openSocket(broker, url))).toBe("invalid_request");
    },
  );

  test("is not opened with a user name in its address", async () => {
    const { broker } = await makeBroker({ permissions: { net: ["127.0.0.1:80"] } });
    expect(await codeOf(openSocket(broker, "ws://user:pass@127.0.0.1/"))).toBe("invalid_request");
  });

  test.each([
    { Host: "evil" },
    { connection: "close" },
    { upgrade: "h2c" },
    { "Sec-WebSocket-Key": "x" },
    { "sec-websocket-protocol": "x" },
    { origin: "http://x" },
    { cookie: "a=b" },
    { a: "b\r\nHost: evil" },
  ])("is not opened with the headers %j", async (headers) => {
    const server = await serveSockets({ talk: echo });
    const { broker } = await makeNet(server.target);
    expect(await codeOf(openSocket(broker, server.url, { headers }))).toBe("invalid_request");
    expect(server.connections()).toBe(0);
  });

  test("is held to one reader, to its own id, and to codes and reasons that are an application's", async () => {
    const server = await serveSockets({ talk: echo });
    const { broker } = await makeNet(server.target);
    const id = await openSocket(broker, server.url);
    const first = read(broker, id);
    expect(await codeOf(read(broker, id))).toBe("invalid_request");
    await send(broker, id, "x");
    expect(await first).toEqual(["x"]);
    for (const [code, reason] of [[1001, ""], [999, ""], [5000, ""], [1000, "x".repeat(124)]] as const) {
      expect(await codeOf(close(broker, id, code, reason))).toBe("invalid_request");
    }
    for (const call of [read(broker, 7), send(broker, 7, ""), close(broker, 7)]) {
      expect(await codeOf(call)).toBe("not_found");
    }
  });

  test("has secrets put into its headers, and nowhere else", async () => {
    const server = await serveSockets({ talk: echo });
    const value = "a-secret-of-the-test";
    const permissions = { net: [server.target], secrets: [{ name: "KEY", hosts: [server.target] }] };
    const { broker } = await makeBroker({ permissions, secrets: new Map([["KEY", value]]) });
    const key = await broker.call("secret_use", { name: "KEY" }) as string;
    const id = await openSocket(broker, server.url, { headers: { authorization: `Bearer ${key}` } });
    expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${value}`);
    expect(await codeOf(send(broker, id, `say ${key}`))).toBe("permission_denied");
    expect(await codeOf(openSocket(broker, `${server.url}/${key}`))).toBe("permission_denied");
    expect(await codeOf(openSocket(broker, server.url, { headers: { "user-agent": key } }))).toBe("permission_denied");
    expect(server.requests).toHaveLength(1);
  });
});

describe("the opening of a WebSocket", () => {
  test("follows no redirect", async () => {
    const there = await serveSockets({ talk: echo });
    const here = await serveSockets({
      upgrade: (_request, stream) =>
        stream.end(`HTTP/1.1 302 Found\r\nLocation: ${there.url}/\r\nContent-Length: 0\r\n\r\n`),
    });
    const { broker } = await makeBroker({ permissions: { net: [here.target, there.target] } });
    expect(await errorOf(openSocket(broker, here.url))).toMatchObject({
      code: "network_error",
      message: `Cannot connect to "${here.target}": it answered with status 302 instead of a WebSocket.`,
      details: { status: 302 },
    });
    expect(there.connections()).toBe(0);
    await expect.poll(() => here.connections()).toBe(0);
  });

  test.each([
    ["another key", () => accept("another")],
    ["an extension that nobody asked for", (key?: string) => accept(key, "Sec-WebSocket-Extensions: x\r\n")],
    ["a protocol that nobody asked for", (key?: string) => accept(key, "Sec-WebSocket-Protocol: x\r\n")],
    ["no HTTP", () => "220 mail ready\r\n\r\n"],
  ])("fails at an answer with %s", async (_name, answer) => {
    const server = await serveSockets({
      upgrade: (request, stream) => stream.write(answer(request.headers["sec-websocket-key"])),
    });
    const { broker } = await makeNet(server.target);
    expect(await codeOf(openSocket(broker, server.url))).toBe("network_error");
    await expect.poll(() => server.connections(), { timeout: 10_000 }).toBe(0);
  });

  test("fails at a certificate that nobody vouches for, and nothing is sent", async () => {
    const server = await serveSockets({ talk: echo, server: createSecureServer(selfSigned) });
    const { broker } = await makeNet(server.target);
    const headers = { authorization: "Bearer x" };
    expect(await errorOf(openSocket(broker, server.url.replace("ws:", "wss:"), { headers }))).toMatchObject({
      code: "network_error",
      message: expect.stringContaining("its certificate was refused"),
    });
    expect(server.requests).toEqual([]);
  });

  test("is given up when it is never completed, also by a server that goes on talking", async () => {
    const server = await serveSockets({
      upgrade: (_request, stream) => {
        stream.write("HTTP/1.1 101 Switching Protocols\r\n");
        const timer = setInterval(() => stream.write("X-More: x\r\n"), 20);
        stream.on("close", () => clearInterval(timer));
      },
    });
    const { broker } = await makeNet(server.target, { call_timeout_ms: 200 });
    expect(await errorOf(openSocket(broker, server.url))).toMatchObject({
      code: "network_error",
      message: expect.stringContaining("did not answer in time"),
    });
    await expect.poll(() => server.connections(), { timeout: 10_000 }).toBe(0);
  });

  test("ends with the session", async () => {
    const server = await serveSockets({ upgrade: () => {} });
    const { broker } = await makeNet(server.target);
    const opening = codeOf(openSocket(broker, server.url));
    await expect.poll(() => server.requests.length).toBe(1);
    await broker.close();
    expect(await opening).toBe("interrupted");
    await expect.poll(() => server.connections(), { timeout: 10_000 }).toBe(0);
  });

  test("fails where nobody listens, and takes no place then", async () => {
    const { broker } = await makeNet("127.0.0.1:1", { sockets: 1 });
    for (let round = 0; round < 3; round++) {
      expect(await errorOf(openSocket(broker, "ws://127.0.0.1:1"))).toMatchObject({
        code: "network_error",
        message: `Cannot connect to "127.0.0.1:1": the connection was refused.`,
      });
    }
  });

  test("is refused once as many are open as may be, and not for those that are gone", async () => {
    const server = await serveSockets({ talk: echo });
    const { broker } = await makeNet(server.target, { sockets: 3 });
    const opened = await Promise.allSettled(Array.from({ length: 20 }, () => openSocket(broker, server.url)));
    const ids = opened.flatMap((one) => one.status === "fulfilled" ? [one.value] : []);
    expect(ids).toHaveLength(3);
    expect(server.requests).toHaveLength(3);
    expect(await errorOf(openSocket(broker, server.url))).toMatchObject({
      code: "limit_exceeded",
      details: { sockets: 3 },
    });
    await close(broker, ids[0]!);
    await openSocket(broker, server.url);
  });

  test("is refused also when the others are closed and hold what nobody has read", async () => {
    const server = await serveSockets({
      talk: (socket) => {
        socket.send("unread");
        socket.close();
      },
    });
    const { broker } = await makeNet(server.target, { sockets: 2 });
    const first = await openSocket(broker, server.url);
    await openSocket(broker, server.url);
    await expect.poll(() => server.connections()).toBe(0);
    expect(await codeOf(openSocket(broker, server.url))).toBe("limit_exceeded");
    expect(await readAll(broker, first)).toEqual(["unread"]);
    await openSocket(broker, server.url);
  });
});

describe("the end of a WebSocket", () => {
  test("in order ends the reading, once all was read", async () => {
    const server = await serveSockets({
      talk: (socket) => {
        socket.send("last");
        socket.close(1000, "done");
      },
    });
    const { broker } = await makeNet(server.target);
    const id = await openSocket(broker, server.url);
    expect(await readAll(broker, id)).toEqual(["last"]);
    expect(await read(broker, id)).toBe(null);
    expect(await codeOf(send(broker, id, "x"))).toBe("network_error");
    await close(broker, id);
  });

  test.each([[1001, null], [1011, 1011], [4001, 4001], [1008, 1008]])(
    "with the code %i is told",
    async (code, told) => {
      const server = await serveSockets({ talk: (socket) => socket.close(code, "be\u001bcause") });
      const { broker } = await makeNet(server.target);
      const id = await openSocket(broker, server.url);
      if (told === null) expect(await read(broker, id)).toBe(null);
      else {
        const error = await errorOf(read(broker, id));
        expect(error).toMatchObject({ code: "network_error", details: { close_code: told } });
        expect(error.message).toContain(`code ${told}: be\\u{1b}cause.`);
      }
      expect(await read(broker, id)).toBe(null);
    },
  );

  test("without a word is a failure", async () => {
    const { broker, id } = await openRaw((stream) => setTimeout(() => stream.destroy(), 20));
    expect(await errorOf(read(broker, id))).toMatchObject({
      code: "network_error",
      message: expect.stringContaining("broke off"),
    });
    expect(await codeOf(send(broker, id, "x"))).toBe("network_error");
  });

  test("is told to the far end with code and reason, and to whoever reads", async () => {
    const closed: unknown[] = [];
    const server = await serveSockets({
      talk: (socket) => socket.on("close", (code, reason) => closed.push([code, String(reason)])),
    });
    const { broker } = await makeNet(server.target);
    const id = await openSocket(broker, server.url);
    const reading = read(broker, id);
    await close(broker, id, 4321, "enough");
    expect(await reading).toBe(null);
    await expect.poll(() => closed).toEqual([[4321, "enough"]]);
    await expect.poll(() => server.connections(), { timeout: 10_000 }).toBe(0);
  });

  test("does not wait for ever for a far end that says nothing", async () => {
    const { broker, server, id } = await openRaw(() => {});
    await close(broker, id);
    await expect.poll(() => server.connections(), { timeout: 10_000 }).toBe(0);
  });

  test("comes with the end of the session, whatever the far ends do", async () => {
    const codes: number[] = [];
    const polite = await serveSockets({ talk: (socket) => socket.on("close", (code) => codes.push(code)) });
    const silent = await serveSockets({
      upgrade: (request, stream) => stream.write(accept(request.headers["sec-websocket-key"])),
    });
    const { broker } = await makeBroker({ permissions: { net: [polite.target, silent.target] } });
    const reading = codeOf(read(broker, await openSocket(broker, polite.url)));
    await openSocket(broker, silent.url);
    const left = await openSocket(broker, silent.url);
    const leaving = codeOf(close(broker, left));
    await broker.close();
    expect(await Promise.all([reading, leaving])).toEqual(["interrupted", "interrupted"]);
    await expect.poll(() => [polite.connections(), silent.connections(), codes]).toEqual([0, 0, [1001]]);
  });
});

describe("what comes in by a WebSocket", () => {
  test("is refused when a message is too large", async () => {
    const server = await serveSockets({
      talk: (socket) => {
        socket.send("x".repeat(1000));
        socket.send("y".repeat(1001));
        socket.send("z");
      },
    });
    const { broker } = await makeNet(server.target, { socket_message_bytes: 1000 });
    const id = await openSocket(broker, server.url);
    expect(await read(broker, id)).toEqual(["x".repeat(1000)]);
    expect(await errorOf(read(broker, id))).toMatchObject({
      code: "too_large",
      details: { socket_message_bytes: 1000 },
    });
    await expect.poll(() => server.connections(), { timeout: 10_000 }).toBe(0);
  });

  test("is refused when a message comes in too many pieces", async () => {
    // Text frames of one byte that say they go on.
    const pieces = new Uint8Array(3 * 5000);
    for (let at = 0; at < pieces.length; at += 3) pieces.set([at === 0 ? 1 : 0, 1, 0x61], at);
    const { broker, id } = await openRaw((stream) => stream.write(pieces));
    expect(await codeOf(read(broker, id))).toBe("too_large");
  });

  test("is refused when it is binary", async () => {
    const codes: number[] = [];
    const server = await serveSockets({
      talk: (socket) => {
        socket.on("close", (code) => codes.push(code));
        socket.send("text");
        socket.send(new Uint8Array([1, 2, 3]));
        socket.send("more");
      },
    });
    const { broker } = await makeNet(server.target);
    const id = await openSocket(broker, server.url);
    expect(await read(broker, id)).toEqual(["text"]);
    expect(await codeOf(read(broker, id))).toBe("unsupported");
    await expect.poll(() => codes).toHaveLength(1);
    // It is told why, unless it was too slow to listen.
    expect([1003, 1006]).toContain(codes[0]);
  });

  test.each([
    ["a masked frame", [0x81, 0x81, 1, 2, 3, 4, 5]],
    ["a reserved code", [0x83, 0]],
    ["a compressed frame", [0xc1, 1, 0x61]],
    ["a text that is no UTF-8", [0x81, 2, 0xc3, 0x28]],
    ["a piece without a beginning", [0x80, 0]],
    ["a length beyond all numbers", [0x81, 127, 255, 255, 255, 255, 255, 255, 255, 255]],
    ["a ping in pieces", [0x09, 0]],
  ])("is refused when it is %s", async (_name, bytes) => {
    const { broker, server, id } = await openRaw((stream) => stream.write(new Uint8Array(bytes)));
    expect(["network_error", "too_large"]).toContain(await codeOf(read(broker, id)));
    await expect.poll(() => server.connections(), { timeout: 10_000 }).toBe(0);
  });

  test("waits at its source while nobody reads, and is all there afterwards", async () => {
    const total = 400_000;
    let sent = 0;
    const server = await serveSockets({
      talk: (socket) => {
        const more = () => {
          while (sent < total && socket.bufferedAmount < 1_000_000) socket.send(`message ${sent++}`);
          if (sent < total) setTimeout(more, 5);
          else socket.close();
        };
        more();
      },
    });
    const { broker } = await makeNet(server.target, { socket_waiting_bytes: 64 * 1024 });
    const id = await openSocket(broker, server.url);
    // Until it stands still: what the systems' buffers hold has been sent, and no more.
    let before = -1;
    while (before !== sent) {
      before = sent;
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    expect(sent).toBeLessThan(total);
    const got = await readAll(broker, id);
    expect(got).toHaveLength(total);
    expect(got.every((text, at) => text === `message ${at}`)).toBe(true);
  });

  test("waits at its source also when the messages are empty", async () => {
    // Two bytes each on the way, and many times that in memory.
    const frames = new Uint8Array(1024 * 1024);
    for (let at = 0; at < frames.length; at += 2) frames.set([0x81, 0], at);
    let written = 0;
    const { broker, id } = await openRaw((stream) => {
      const more = () => {
        while (written < 64 && !stream.destroyed) {
          written += 1;
          if (!stream.write(frames)) return;
        }
      };
      stream.on("drain", more);
      more();
    });
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(written).toBeLessThan(32);
    const batch = await read(broker, id);
    expect(batch?.length).toBeGreaterThan(1);
    expect(batch?.length).toBeLessThan(2048);
  });

  test("may be pings, which are answered, but not a flood of them", async () => {
    let pongs = 0;
    const server = await serveSockets({
      talk: (socket) => {
        socket.on("pong", () => {
          pongs += 1;
          if (pongs === 20) socket.send("all");
        });
        for (let n = 0; n < 20; n++) socket.ping();
      },
    });
    const { broker } = await makeNet(server.target);
    const id = await openSocket(broker, server.url);
    expect(await read(broker, id)).toEqual(["all"]);
    const flood = new Uint8Array(2 * 20_000);
    for (let at = 0; at < flood.length; at += 2) flood.set([0x89, 0], at);
    const other = await openRaw((stream) => stream.write(flood));
    expect(await codeOf(read(other.broker, other.id))).toBe("network_error");
    await expect.poll(() => other.server.connections(), { timeout: 10_000 }).toBe(0);
  });
});

describe("what goes out by a WebSocket", () => {
  test("is refused when a message is too large, and the connection stays", async () => {
    const server = await serveSockets({ talk: echo });
    const { broker } = await makeNet(server.target, { socket_message_bytes: 1000 });
    const id = await openSocket(broker, server.url);
    expect(await errorOf(send(broker, id, "ä".repeat(501)))).toMatchObject({
      code: "too_large",
      details: { socket_message_bytes: 1000 },
    });
    await send(broker, id, "ä".repeat(500));
    expect(await read(broker, id)).toEqual(["ä".repeat(500)]);
  });

  test("is refused while the far end does not read what was sent before", async () => {
    const { broker, id } = await openRaw((stream) => stream.pause(), { socket_waiting_bytes: 256 * 1024 });
    const text = "x".repeat(128 * 1024);
    const outcomes: Promise<string | null>[] = [];
    // The systems' buffers take a while to fill: it is full once nothing has been taken for some time.
    let refusals = 0;
    for (let round = 0; round < 500 && refusals < 5; round++) {
      const sending = send(broker, id, text).then(() => null, ({ code }: { code: string }) => code);
      outcomes.push(sending);
      const code = await Promise.race([sending, new Promise<null>((resolve) => setTimeout(resolve, 50, null))]);
      refusals = code === "limit_exceeded" ? refusals + 1 : 0;
    }
    expect(refusals).toBe(5);
    await close(broker, id);
    // Nobody goes on waiting for room.
    const known = [null, "network_error", "limit_exceeded"];
    expect((await Promise.all(outcomes)).filter((code) => !known.includes(code))).toEqual([]);
  });
});
