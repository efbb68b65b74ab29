import { Buffer } from "node:buffer";
import { once } from "node:events";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import type { GivenAnswer, Wire, WireFollower } from "../../../core/walls/agent/wire.ts";
import { bodyOf, key, ok, openModel, placeholder, request } from "./open-model.ts";

/** Writes down what it is told. */
function follower(): { told: string[]; follower: Required<Omit<WireFollower, "unsent">> } {
  const told: string[] = [];
  return {
    told,
    follower: {
      refused: () => null,
      sent: (piece) => void told.push(`sent ${piece}`),
      answered: ({ status, headers }) => void told.push(`answered ${status} ${JSON.stringify(headers)}`),
      isComplete: () => false,
      received: (piece) => void told.push(`received ${piece}`),
      ended: (isWhole) => void told.push(`ended ${isWhole}`),
    },
  };
}

/** What was told of one kind, put together. */
const joined = (told: readonly string[], kind: string) =>
  told.filter((one) => one.startsWith(`${kind} `)).map((one) => one.slice(kind.length + 1)).join("");

const post = (fields: Record<string, string>) => request("/model/v1/x?key=" + placeholder, fields, "POST");

test("Wire: a follower stops a request whose body is still on its way, and the model gets no more of it", async () => {
  let why: string | null = null;
  const model = await openModel(() => {}, { wires: [{ begin: () => ({ refused: () => why }) }] });
  const client = await model.open(post({ "x-api-key": placeholder, "Content-Length": "8" }));
  client.write("1234");
  while (!model.seen.join("").endsWith("1234")) await pause(5);
  why = "The budget is spent.";
  client.write("5678");
  let answer = "";
  for await (const piece of client) answer += String(piece);
  expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /);
  expect(answer).toContain("The budget is spent.");
  expect(model.seen.join("")).not.toContain("5678");
});

test("Wire: a follower gets bodies without their chunks, and no key", async () => {
  const { told, follower: one } = follower();
  const begun: unknown[] = [];
  const wires: Wire[] = [{ begin: (asked) => (begun.push(asked), one) }];
  const body = `1;x=${key}\r\na\r\n10\r\nbcdefghijklmnopq\r\n0\r\nX-T: y\r\n\r\n`;
  const reply = `3\r\nyes\r\n28\r\n${key} \r\n0\r\n\r\n`;
  const model = await openModel((socket) =>
    socket.on("data", (piece: Uint8Array) => {
      if (!String(piece).includes("0\r\n\r\n")) return;
      socket.end(`HTTP/1.1 200 OK\r\nX-Echo: ${key}\r\nTransfer-Encoding: chunked\r\n\r\n${reply}`);
    }), { wires });
  const client = await model.open(post({ "x-api-key": placeholder, "Transfer-Encoding": "chunked" }));
  for (const byte of `${body}POST /more HTTP/1.1\r\n\r\n`) {
    client.write(byte);
    await pause(0);
  }
  let answer = "";
  for await (const piece of client) answer += String(piece);
  expect(bodyOf(answer)).toBe(`yes${"*".repeat(key.length)} `);
  expect(begun).toMatchObject([{
    method: "POST",
    path: `/v1/x?key=${placeholder}`,
    base: expect.stringContaining("/base"),
  }]);
  expect(JSON.stringify(begun)).not.toContain(key);
  expect(joined(told, "sent")).toBe("abcdefghijklmnopq");
  expect(joined(told, "answered")).toContain("*".repeat(key.length));
  expect(joined(told, "received")).toBe(`yes${"*".repeat(key.length)} `);
  expect(told.at(-1)).toBe("ended true");
  // Nothing but the one request goes out, in chunks of the host's own.
  const [seen = ""] = model.seen;
  expect(seen.slice(seen.indexOf("\r\n\r\n") + 4).replace(/^[0-9a-f]+\r\n|\r\n(?:[0-9a-f]+\r\n|$)/g, "|")).not.toMatch(
    /x=|X-T|more/,
  );
  expect(bodyOf(seen)).toBe("abcdefghijklmnopq");
});

test.each(["5\r\nabc", "zz\r\n", "1\r\nab\r\n", "1\nb\n", "1".repeat(40_000)])(
  "Wire: a request whose chunks are none is refused: %#",
  async (body) => {
    const { told, follower: one } = follower();
    const model = await openModel(() => {}, { wires: [{ begin: () => one }] });
    const client = await model.open(post({ "Transfer-Encoding": "chunked" }));
    client.end(body);
    let answer = "";
    for await (const piece of client) answer += String(piece);
    expect(answer).not.toContain("200");
    await expect.poll(() => told.at(-1)).toBe("ended false");
  },
);

test("Wire: one that throws changes nothing for the others, and an end is told once", async () => {
  const { told, follower: one } = follower();
  const bad: Wire = { begin: () => ({ received: () => expect.unreachable() }) };
  const model = await openModel(ok, { wires: [bad, { begin: () => one }, { begin: () => null }] });
  expect(await model.send(post({ "Content-Length": "0" }))).toMatch(/ok$/);
  expect(told).toEqual(['answered 200 [["Content-Length","2"],["Connection","close"]]', "received ok", "ended true"]);
});

test("Wire: an exchange that breaks off is told as such", async () => {
  const { told, follower: one } = follower();
  const model = await openModel((socket) => {
    socket.write("HTTP/1.1 200 OK\r\n\r\nabc");
    const more = setInterval(() => socket.write("abc"), 5);
    socket.once("close", () => clearInterval(more));
  }, { wires: [{ begin: () => one }] });
  const client = await model.open(post({ "Content-Length": "0" }));
  client.once("data", () => client.destroy());
  await expect.poll(() => told.at(-1)).toBe("ended false");
});

test.each<[string, number, string | null]>([["all of it", 5, "hello"], ["less than it", 4, null]])(
  "Wire: an answer in the model's stead waits for the request's body: %s",
  async (_, mostSent, expected) => {
    const { told, follower: before } = follower();
    const bodies: (string | null)[] = [];
    const answer = (sent: Buffer | null): GivenAnswer => {
      bodies.push(sent === null ? null : String(sent));
      return { status: 402, headers: [["Content-Type", "a/b"], ["Content-Length", "7"]], body: [Buffer.from("spent")] };
    };
    const wires: Wire[] = [{ begin: () => before }, { begin: () => ({ mostSent, answer }) }, {
      begin: () => expect.unreachable(),
    }];
    const model = await openModel(ok, { wires });
    const client = await model.open(post({ "Content-Length": "5" }));
    for (const byte of "hello") {
      await pause(1);
      expect(bodies).toEqual([]);
      client.write(byte);
    }
    let text = "";
    for await (const piece of client) text += String(piece);
    expect(text).toMatch(/^HTTP\/1\.1 402 \r\nContent-Type: a\/b\r\nTransfer-Encoding: chunked\r\n/);
    expect(bodyOf(text)).toBe("spent");
    expect(bodies).toEqual([expected]);
    expect(model.seen).toEqual([]);
    expect([joined(told, "sent"), joined(told, "received"), told.at(-1)]).toEqual(["hello", "spent", "ended true"]);
  },
);

test("Wire: an answer in the model's stead waits for a slow reader, and leaves no listeners", async () => {
  const warnings: string[] = [];
  const warned = ({ name }: Error) => void warnings.push(name);
  process.on("warning", warned);
  const piece = Buffer.alloc(200_000, "x");
  const body = Array.from({ length: 60 }, () => piece);
  const answer = (): GivenAnswer => ({ status: 200, headers: [], body });
  const model = await openModel(ok, { wires: [{ begin: () => ({ mostSent: 0, answer }) }] });
  const client = await model.open(post({ "Content-Length": "0" }));
  let length = 0;
  for await (const part of client) {
    length += (part as Buffer).length;
    await pause(1);
  }
  process.off("warning", warned);
  expect(length).toBeGreaterThan(12_000_000);
  expect(warnings).toEqual([]);
});

test("Wire: a body of one-byte chunks takes no more memory than its bytes", { timeout: 60_000 }, async () => {
  const bytes = 1_000_000;
  let length = 0;
  const answer = (sent: Buffer | null): GivenAnswer => {
    length = sent?.length ?? -1;
    return { status: 200, headers: [], body: [] };
  };
  let sent = 0;
  const counts: Wire = { begin: () => ({ sent: (piece) => void (sent += piece.length) }) };
  const model = await openModel(ok, { wires: [counts, { begin: () => ({ mostSent: bytes, answer }) }] });
  const client = await model.open(post({ "Transfer-Encoding": "chunked" }));
  const held = () => process.memoryUsage().heapUsed + process.memoryUsage().external;
  const chunks = Buffer.from("1\r\na\r\n".repeat(10_000));
  const before = held();
  for (let times = 0; times < bytes / 10_000; times++) {
    if (!client.write(chunks)) await once(client, "drain");
  }
  await expect.poll(() => sent, { timeout: 30_000 }).toBe(bytes);
  expect(held() - before).toBeLessThan(64_000_000);
  client.end("0\r\n\r\n");
  await expect.poll(() => length).toBe(bytes);
});

test("Wire: of a request that reaches no model, followers see the body as one that was not sent", async () => {
  const { told, follower: one } = follower();
  const unsent: string[] = [];
  const wires: Wire[] = [{ begin: () => ({ ...one, unsent: (piece) => void unsent.push(String(piece)) }) }];
  const model = await openModel(ok, { wires, isThere: false });
  const client = await model.open(post({ "Content-Length": "5" }) + "he");
  await pause(20);
  client.write("llo");
  let text = "";
  for await (const piece of client) text += String(piece);
  expect(text).toMatch(/^HTTP\/1\.1 502 /);
  expect(unsent.join("")).toBe("hello");
  await expect.poll(() => told).toEqual(["ended false"]);
});
