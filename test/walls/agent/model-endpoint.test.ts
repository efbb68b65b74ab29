import { Buffer } from "node:buffer";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import type { Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { deflateSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import type { Wire } from "../../../core/walls/agent/wire.ts";
import { bodyOf, key, ok, openModel, placeholder, request } from "./open-model.ts";

test("toEndpoint: a stand-in is exchanged in fields for credentials and in the parameter key, and nowhere else", async () => {
  const model = await openModel(ok);
  const held = { "X-Api-Key": placeholder, Authorization: `Bearer ${placeholder}`, "api-key": placeholder };
  const others = {
    "User-Agent": placeholder,
    Cookie: `a=${placeholder}`,
    "X-Other": placeholder,
    "x-goog-api-key": `${placeholder} and more`,
    "Content-Length": String(placeholder.length),
  };
  const target = `/model/v1/${placeholder}?key=${placeholder}&q=${placeholder}&key=a${placeholder}`;
  expect(await model.send(request(target, { ...held, ...others }, "POST") + placeholder)).toContain("200 OK");
  const [seen = ""] = model.seen;
  expect(seen.split(key)).toHaveLength(5);
  expect(seen).toContain(`POST /base/v1/${placeholder}?key=${key}&q=${placeholder}&key=a${placeholder} HTTP/1.1`);
  expect(seen).toContain(`\r\nAuthorization: Bearer ${key}\r\n`);
  expect(seen).toContain("\r\nAccept-Encoding: identity\r\n");
});

test.each([
  "/model/x/../../admin",
  "/model/..",
  "/model/.",
  "/model/%2e%2e/admin",
  "/model/.%2E/admin",
  "/model/%252e%252e/admin",
  "/model/%25252e%25252e%25252fadmin",
  "/model/%252e%252e/%25zz/admin",
  "/model/..%2fadmin",
  "/model/x%2f..%2f..%2fadmin",
  "/model/..;/admin",
  "/model/..;a=b/admin",
  "/model/%2e%2e%3b/admin",
  "/model//admin",
  "/model/%2f/admin",
  "/model/x\\..\\..\\admin",
  "/model/..%5cadmin",
  "/model/%c0%ae%c0%ae/admin",
  "/model/x%00/../admin",
  "/model/%",
  "/model/x#/../admin",
  "/model/%0d%0aX-Evil:1",
  "/model\\x",
  "/model@evil.example/x",
  "/model:80/x",
  "/model.evil/x",
])("toEndpoint: no key leaves the model's path: %s", async (target) => {
  const model = await openModel(ok);
  const answer = await model.send(request(target, { "x-api-key": placeholder }));
  expect(answer).toMatch(/^HTTP\/1\.1 (?:400|407) /);
  expect(model.seen).toEqual([]);
});

test.each([
  "/model",
  "/model/",
  "/model?a=/../b",
  "/model/v1beta/models/a:stream?alt=sse",
  "/model/models/a%2Fb",
  "/model/v1/..a/.b",
])(
  "toEndpoint: passes what stays below it: %s",
  async (target) => {
    const model = await openModel(ok);
    expect(await model.send(request(target, { "x-api-key": placeholder }))).toMatch(/^HTTP\/1\.1 200 /);
    expect(model.seen[0]).toContain(`GET /base${target.slice("/model".length)} HTTP/1.1`);
  },
);

test.each(["TRACE", "CONNECT", "TRACK", "DEBUG", "PROPFIND", "M-SEARCH"])(
  "toEndpoint: no other method gets a key: %s",
  async (method) => {
    const model = await openModel(ok);
    expect(await model.send(request("/model/x", { "x-api-key": placeholder }, method))).toMatch(/^HTTP\/1\.1 400 /);
    expect(model.seen).toEqual([]);
  },
);

test("toEndpoint: fields that name another method, path or end of the request go nowhere", async () => {
  const model = await openModel(ok);
  const twice = { "Content-Length": "0", "Transfer-Encoding": "chunked" };
  expect(await model.send(request("/model/x", twice, "POST"))).toMatch(/^HTTP\/1\.1 400 /);
  expect(await model.send(request("/model/x", { "Transfer-Encoding": "gzip, chunked" }, "POST"))).toMatch(
    /^HTTP\/1\.1 400 /,
  );
  expect(model.seen).toEqual([]);
  await model.send(request("/model/x", {
    "X-HTTP-Method-Override": "TRACE",
    "X-Original-URL": "/admin",
    "X-Rewrite-URL": "/admin",
    "X-Forwarded-Host": "evil.example",
    "Accept-Encoding": "gzip",
    Range: "bytes=0-3",
    TE: "trailers",
    Upgrade: "websocket",
    "Max-Forwards": "0",
  }));
  expect(model.seen[0]).not.toMatch(/^(?:x-|range|te:|upgrade|max-forwards)|admin|evil|gzip/im);
});

test("toEndpoint: chunks of HTTP/1.0 are refused", async () => {
  const model = await openModel(ok);
  const text = request("/model/x", { "Transfer-Encoding": "chunked" }, "POST") + "0\r\n\r\n";
  expect(await model.send(text.replace("HTTP/1.1", "HTTP/1.0"))).toMatch(/^HTTP\/1\.1 400 [^]*where its body ends/);
  expect(model.seen).toEqual([]);
});

test.each<[string, boolean, Wire[]]>([
  ["the model", true, []],
  ["a wire that answers", true, [{
    begin: () => ({ mostSent: 9, answer: () => ({ status: 200, headers: [], body: [] }) }),
  }]],
  ["no model", false, []],
])("joinCovered: a client that waits to be asked for its body is asked by the host: %s", async (_, isThere, wires) => {
  // This model never asks for a body.
  const model = await openModel((socket, head) => {
    const answer = () => void ok(socket);
    if (head.endsWith("hello")) answer();
    else socket.once("data", answer);
  }, { wires, isThere });
  const fields = { "Content-Length": "5", Expect: "100-Continue" };
  const client = await model.open(request("/model/x", fields, "POST"));
  let all = "";
  client.on("data", (piece: Uint8Array) => all += String(piece));
  await expect.poll(() => all).toBe("HTTP/1.1 100 Continue\r\n\r\n");
  client.write("hello");
  await expect.poll(() => all).toMatch(isThere ? /Continue\r\n\r\nHTTP\/1\.1 200 / : /HTTP\/1\.1 502 /);
  expect(model.seen.join("")).not.toMatch(/^expect/im);
  const old = request("/model/x", fields, "POST").replace("HTTP/1.1", "HTTP/1.0");
  expect(await model.send(`${old}hello`)).not.toContain("Continue");
});

test("toEndpoint: a second request in one connection has no key, and its answer is not passed on", async () => {
  const model = await openModel((socket) =>
    socket.end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\nmore")
  );
  const second = request("/base/../admin", { "x-api-key": placeholder });
  const answer = await model.send(request("/model/x", { "x-api-key": placeholder }) + second);
  expect(answer).toMatch(/ok$/);
  await pause(20);
  expect(model.seen.join("").split(key)).toHaveLength(2);
});

/** Writes the text by pieces of so many characters. */
async function writeCut(socket: Socket, text: string, most: number): Promise<void> {
  for (let at = 0; at < text.length; at += most) {
    socket.write(text.slice(at, at + most), "latin1");
    await pause(0);
  }
  socket.end();
}

const chunked = (pieces: readonly string[]) =>
  pieces.map((piece) => `${piece.length.toString(16)};x=${key}\r\n${piece}\r\n`).join("");

const echo = `{"error":"Incorrect API key provided: ${key}","again":"${encodeURIComponent(key)}","basic":"${
  Buffer.from(`u:${key}`).toString("base64")
}"}`;
const framings: Record<string, string> = {
  "a length": `HTTP/1.1 401 no ${key}\r\nContent-Length: ${echo.length}\r\nX-Echo: Bearer ${key}\r\n\r\n${echo}`,
  "chunks": `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n${
    chunked([...echo].map((_, at) => echo.slice(at * 5, at * 5 + 5)).filter((piece) => piece !== ""))
  }0\r\nX-T: ${key}\r\n\r\n`,
  "the connection's end": `HTTP/1.0 500 Oops\r\nSet-Cookie: k=${key}\r\n\r\n${echo}`,
  "a redirect":
    `HTTP/1.1 302 Found\r\nLocation: https://evil.example/?k=${key}\r\nContent-Length: ${echo.length}\r\n\r\n${echo}`,
  "an interim answer":
    `HTTP/1.1 103 Early\r\nLink: <${key}>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: ${echo.length}\r\n\r\n${echo}`,
};

test.each(Object.entries(framings))("joinCovered: a model that says the key says stars: %s", async (_, text) => {
  for (const most of [2, 17, 100_000]) {
    const model = await openModel((socket) => writeCut(socket, text, most));
    const answer = await model.send(request("/model/x", { "x-api-key": placeholder }));
    expect(answer).toMatch(/^HTTP\/1\.1 (?:401|200|302|500) /);
    expect(answer).not.toMatch(/real-key|cmVhbC1r|yZWFsLWt|lYWwta2V5/);
    const body = bodyOf(answer);
    expect(body).toHaveLength(echo.length);
    expect(body).toContain(`{"error":"Incorrect API key provided: ${"*".repeat(key.length)}","again":"`);
    expect(body.endsWith('"}')).toBe(true);
  }
});

test.each([
  [
    "an encoded answer",
    Buffer.concat([
      Buffer.from("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"),
      gzipSync(echo),
    ]),
  ],
  ["two ends", Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n${echo}`)],
  ["a folded field", Buffer.from(`HTTP/1.1 200 OK\r\nX-A: ${key.slice(0, 9)}\r\n ${key.slice(9)}\r\n\r\n`)],
  ["another protocol", Buffer.from(`HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n${key}`)],
  ["no HTTP", Buffer.from(`${key}\r\n\r\n`)],
  ["chunks of HTTP/1.0", Buffer.from("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")],
  ["many interim answers", Buffer.from(`${"HTTP/1.1 103 Early\r\n\r\n".repeat(30)}HTTP/1.1 200 OK\r\n\r\n`)],
])("joinCovered: what cannot be looked through is not passed on: %s", async (_, bytes) => {
  const model = await openModel((socket) => socket.end(bytes));
  const answer = await model.send(request("/model/x", { "x-api-key": placeholder }));
  expect(answer).toMatch(/^HTTP\/1\.1 502 /);
  expect(answer).not.toContain("real-key");
  expect(answer).not.toContain(key.slice(0, 13));
});

test("joinCovered: an answer that ends early is no whole one", async () => {
  const model = await openModel((socket) =>
    socket.end("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel")
  );
  expect(await model.send(request("/model/x"))).not.toContain("0\r\n\r\n");
});

test.each(["", "HTTP/1.1 200 OK\r\nContent-"])(
  "joinCovered: an answer that ends before its head, %j, is told",
  async (head) => {
    const model = await openModel((socket) => socket.end(head));
    expect(await model.send(request("/model/x"))).toMatch(
      /^HTTP\/1\.1 502 [^]*The model's answer is not passed on: it ended early\./,
    );
  },
);

test("joinCovered: words come one by one, and HEAD has no body", async () => {
  let say = (_: string) => {};
  const model = await openModel((socket, head) => {
    if (head.startsWith("HEAD")) return void socket.end("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n");
    socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    say = (text) => socket.write(`${text.length.toString(16)}\r\n${text}\r\n`);
  });
  const client = await model.open(request("/model/x"));
  let all = "";
  client.on("data", (piece: Uint8Array) => all += String(piece));
  await expect.poll(() => all).toContain("\r\n\r\n");
  for (const word of ["data: one\n\n", "data: two sk-ant\n\n"]) {
    say(word);
    await expect.poll(() => bodyOf(`${all}0\r\n`).endsWith(word)).toBe(true);
  }
  client.destroy();
  expect(await model.send(request("/model/x", {}, "HEAD"))).toMatch(/^HTTP\/1\.1 200 OK\r\nContent-Length: 500\r\n/);
});

test("joinCovered: much comes as it was, to a slow reader too, and the model waits for it", async () => {
  const sent = randomBytes(8_000_000);
  const model = await openModel((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${sent.length}\r\n\r\n`);
    socket.end(sent);
  });
  const client = await model.open(request("/model/x"));
  const pieces: Buffer[] = [];
  client.on("data", (piece: Buffer) => {
    pieces.push(piece);
    if (pieces.length % 20 !== 0) return;
    client.pause();
    setTimeout(() => client.resume(), 2);
  });
  await once(client, "end");
  const all = Buffer.concat(pieces);
  const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
  expect(digest(all.subarray(all.indexOf("\r\n\r\n") + 4))).toBe(digest(sent));

  let written = 0;
  const endless = await openModel((socket) => {
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    const more = () => {
      while (written < 200_000_000 && socket.write(sent)) written += sent.length;
    };
    socket.on("drain", more);
    more();
  });
  (await endless.open(request("/model/x"))).pause();
  let before = -1;
  while (before !== written) {
    before = written;
    await pause(150);
  }
  expect(written).toBeLessThan(100_000_000);
});

test.each(["a:1\\@b:2", "a:1@b:2", "a b:1", "a:1/x", "a:1?x", "a:1#x", ":1", "a", "a:", "[::1:1", "a%00:1", "ä:1"])(
  "createEgress: CONNECT to what is no host and port is refused: %s",
  async (target) => {
    const model = await openModel(ok);
    const authorization = { "Proxy-Authorization": `Basic ${Buffer.from("session:token").toString("base64")}` };
    expect(await model.send(request(target, authorization, "CONNECT"))).toMatch(/^HTTP\/1\.1 400 /);
    expect(await model.send(request(`http://a:1\\@127.0.0.1:${model.port}/`, authorization))).toMatch(
      /^HTTP\/1\.1 400 /,
    );
    expect(model.seen).toEqual([]);
  },
);

test.each<[string, (text: string) => Uint8Array]>([["gzip", gzipSync], ["zlib", deflateSync]])(
  "createEgress: an answer in %s that does not say so is not passed on",
  async (_name, pack) => {
    const packed = pack(`${"words ".repeat(50)}${key}`);
    for (const size of [1, packed.length]) {
      const model = await openModel(async (socket) => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${packed.length}\r\n\r\n`);
        for (let at = 0; at < packed.length && !socket.destroyed; at += size) {
          socket.write(packed.subarray(at, at + size));
          await pause(1);
        }
      });
      const answer = await model.send(request("/model/v1/x"));
      expect(bodyOf(answer).length).toBeLessThan(2);
    }
  },
);
