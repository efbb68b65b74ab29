import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeFrame, FrameReader } from "../../../core/ground/checks/frames.ts";
import { MessageReader } from "../../../core/walls/channel/messages.ts";
import type { ReplyMessage } from "../../../core/walls/channel/protocol.ts";
import { encodeTextReply, readTextReply } from "../../../core/walls/channel/text-reply.ts";

const number = fc.integer({ min: 0, max: 0xffff_ffff });
const filler = "x".repeat(256);

function payloadOf(frame: Uint8Array): Uint8Array {
  const payloads: Uint8Array[] = [];
  new FrameReader(1 << 24).push(frame, ({ lane, payload }) => {
    expect(lane).toBe(9);
    payloads.push(payload.slice());
  });
  expect(payloads.length).toBe(1);
  return payloads[0]!;
}

function sent(reply: Pick<ReplyMessage, "sid" | "id" | "value" | "error">): unknown {
  const frame = encodeTextReply(9, { type: "reply", ...reply });
  return frame === null ? null : readTextReply(payloadOf(frame));
}

describe("a reply with a long text", () => {
  it("arrives as it was, whatever stands in the text", () => {
    const text = fc.string({ unit: "binary", maxLength: 2000 }).map((some) => `\ufeff${some}${filler}`);
    fc.assert(fc.property(number, number, text, (sid, id, value) => {
      expect(sent({ sid, id, value })).toEqual({ type: "reply", sid, id, value });
    }));
  });

  it("has the text in it once and not as JSON", () => {
    const value = '{"a":"\\n"}\n'.repeat(100);
    const payload = payloadOf(encodeTextReply(9, { type: "reply", sid: 1, id: 2, value })!);
    expect(payload.length).toBe(value.length + 9);
  });

  it.each<[string, Pick<ReplyMessage, "sid" | "id" | "value" | "error">]>([
    ["a short text", { sid: 1, id: 1, value: "x".repeat(255) }],
    ["a huge text", { sid: 1, id: 1, value: "x".repeat(1024 * 1024 + 1) }],
    ["half of a pair", { sid: 1, id: 1, value: `${filler}\ud83d` }],
    ["no text", { sid: 1, id: 1, value: [filler] }],
    ["an error", { sid: 1, id: 1, error: { code: "fatal", message: filler } }],
    ["a number of its call that needs more room", { sid: 1, id: 2 ** 32, value: filler }],
    ["a number of its entry that needs more room", { sid: 2 ** 32, id: 1, value: filler }],
  ])("goes as a message with %s", (_, reply) => {
    expect(sent(reply)).toBeNull();
  });
});

describe("readTextReply", () => {
  it("takes no message for one", () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => {
      expect(readTextReply(payloadOf(encodeFrame(9, JSON.stringify({ value }))))).toBeNull();
    }));
    expect(readTextReply(new Uint8Array(8))).toBeNull();
  });

  it("refuses a text that is not UTF-8", () => {
    const payload = payloadOf(encodeTextReply(9, { type: "reply", sid: 1, id: 1, value: filler })!);
    payload[20] = 0xff;
    expect(() => readTextReply(payload)).toThrow(expect.objectContaining({ code: "protocol_violation" }));
  });

  it("is not how a host reads: from a guest such a payload breaks the protocol", () => {
    const payload = payloadOf(encodeTextReply(9, { type: "reply", sid: 1, id: 1, value: filler })!);
    expect(() => new MessageReader(1 << 20).read(payload)).toThrow(
      expect.objectContaining({ code: "protocol_violation" }),
    );
  });
});
