import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { SessionBroker } from "../../../core/walls/broker/session-broker.ts";
import { defaultLimits } from "../../../core/ground/config/limits.ts";
import { makeBroker } from "./broker-fixture.ts";
import { serveSockets } from "./loopback-sockets.ts";

/** A frame as a server sends it (RFC 6455, 5.2). */
function frame(first: number, payload: Uint8Array): Uint8Array {
  const { length } = payload;
  const size = length < 126 ? [length] : length < 65_536 ? [126, length >> 8, length & 255] : [
    127,
    0,
    0,
    0,
    0,
    ...[24, 16, 8, 0].map((bits) => (length >>> bits) & 255),
  ];
  return new Uint8Array([first, ...size, ...payload]);
}

/** A message in frames that are cut at these places, with a ping before each but the first. */
function framesOf(text: string, cuts: readonly number[]): Uint8Array[] {
  const bytes = new TextEncoder().encode(text);
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  const ends = [...places, bytes.length];
  return ends.flatMap((end, at) => {
    const payload = bytes.subarray(at === 0 ? 0 : ends[at - 1], end);
    const first = (at === ends.length - 1 ? 0x80 : 0) | (at === 0 ? 1 : 0);
    return at === 0 ? [frame(first, payload)] : [frame(0x89, new Uint8Array([at])), frame(first, payload)];
  });
}

/** A broker, and a way to have a far end that writes these bytes in these pieces and goes away. */
async function makePlayer() {
  let pieces: readonly Uint8Array[] = [];
  const server = await serveSockets({
    upgrade(request, stream) {
      const key = `${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
      const accept = createHash("sha1").update(key).digest("base64");
      stream.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
          `Sec-WebSocket-Accept: ${accept}\r\n\r\n`,
      );
      for (const piece of pieces) stream.write(piece);
      stream.end();
    },
  });
  const { broker } = await makeBroker({
    permissions: { net: [server.target] },
    limits: { ...defaultLimits, socket_message_bytes: 100_000, socket_waiting_bytes: 4096 },
  });
  return async (written: readonly Uint8Array[]) => {
    pieces = written;
    const { socket_id } = await broker.call("socket_open", { url: server.url, options: {} }) as { socket_id: number };
    const outcome = await readAll(broker, socket_id);
    await broker.call("socket_close", { socket_id, code: 1000, reason: "" });
    return outcome;
  };
}

async function readAll(broker: SessionBroker, socket_id: number): Promise<{ texts: string[]; code: string | null }> {
  const texts: string[] = [];
  try {
    for (;;) {
      const batch = await broker.call("socket_read", { socket_id }) as string[] | null;
      if (batch === null) return { texts, code: null };
      texts.push(...batch);
    }
  } catch (error) {
    return { texts, code: (error as { code: string }).code };
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(parts.flatMap((part) => [...part]));
}

/** The same bytes in pieces that end at these places. */
function cutAt(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1))), bytes.length].sort((a, b) => a - b);
  return ends.map((end, at) => bytes.slice(at === 0 ? 0 : ends[at - 1], end));
}

const cuts = fc.array(fc.nat(), { maxLength: 6 });
const message = fc.record({ text: fc.string({ unit: "binary", maxLength: 3000 }), cuts });

test("messages arrive as they were sent, however they are cut on the way", async () => {
  const play = await makePlayer();
  await fc.assert(
    fc.asyncProperty(fc.array(message, { maxLength: 12 }), cuts, async (messages, places) => {
      const frames = messages.flatMap(({ text, cuts: inside }) => framesOf(text, inside));
      const closing = frame(0x88, new Uint8Array([1000 >> 8, 1000 & 255]));
      const { texts, code } = await play(cutAt(joined([...frames, closing]), places));
      expect([texts, code]).toEqual([messages.map(({ text }) => text), null]);
    }),
    { numRuns: 200 },
  );
}, 60_000);

test("bytes that mean nothing end in a typed error, and give no message that is too large", async () => {
  const play = await makePlayer();
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 400 }), cuts, async (bytes, places) => {
      const { texts, code } = await play(cutAt(bytes, places));
      expect([null, "network_error", "too_large", "unsupported"]).toContain(code);
      for (const text of texts) expect(text.length).toBeLessThanOrEqual(100_000);
    }),
    { numRuns: 200 },
  );
}, 60_000);
