import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FrameReader } from "../../../core/ground/checks/frames.ts";
import { MessageReader, sendText } from "../../../core/walls/channel/messages.ts";

const encoder = new TextEncoder();

interface Sent {
  /** Bytes of each frame, header included. */
  frames: number[];
  received: unknown[];
}

/** Sends a value as JSON in frames of a size and reads it back. */
function send(
  value: unknown,
  { frameBytes, messageBytes = 1 << 24 }: { frameBytes: number; messageBytes?: number },
): Sent {
  const frames = new FrameReader(frameBytes);
  const messages = new MessageReader(messageBytes);
  const sent: Sent = { frames: [], received: [] };
  sendText(JSON.stringify(value), {
    lane: 9,
    frameBytes,
    post: (frame) => {
      sent.frames.push(frame.length);
      frames.push(frame, ({ lane, payload }) => {
        expect(lane).toBe(9);
        const whole = messages.read(payload);
        if (whole) sent.received.push(whole.message);
      });
    },
  });
  return sent;
}

/** Text at whose cuts anything can stand: halves of pairs, escapes, characters of four bytes. */
const anyText = fc.array(
  fc.oneof(
    fc.constantFrom("😀", "\ud800", "\udc00", "\\", '"', "\n", "\u0000", "\u2028", "é", "€", "a"),
    fc.string({ unit: "binary", maxLength: 5 }),
  ),
  { maxLength: 400 },
).map((pieces) => pieces.join(""));

describe("sendText and MessageReader", () => {
  it("bring any text through, in one frame or in parts, and no frame is over its size", () => {
    fc.assert(fc.property(anyText, fc.integer({ min: 80, max: 2000 }), (text, frameBytes) => {
      const { frames, received } = send({ type: "events", sid: 1, events: [text] }, { frameBytes });
      expect(received).toEqual([{ type: "events", sid: 1, events: [text] }]);
      for (const bytes of frames) expect(bytes).toBeLessThanOrEqual(frameBytes + 8);
    }));
  });

  it("bring any JSON through", () => {
    fc.assert(fc.property(fc.jsonValue(), fc.integer({ min: 80, max: 400 }), (value, frameBytes) => {
      expect(send({ value }, { frameBytes }).received).toEqual([JSON.parse(JSON.stringify({ value }, dropProto))]);
    }));
  });

  it("send a message in one frame whenever it fits", () => {
    for (const text of ["", "a".repeat(50), "€".repeat(20), "😀".repeat(16)]) {
      expect(send(text, { frameBytes: 100 }).frames).toHaveLength(1);
    }
    expect(send("a".repeat(200), { frameBytes: 100 }).frames.length).toBeGreaterThan(1);
  });

  it("bring message after message through one reader, parts or not", () => {
    const messages = new MessageReader(100_000);
    const received: unknown[] = [];
    const sent = [1, "x".repeat(5000), 2, "€".repeat(3000), 3];
    for (const value of sent) {
      sendText(JSON.stringify(value), {
        lane: 1,
        frameBytes: 256,
        post: (frame) => {
          const whole = messages.read(frame.subarray(8));
          if (whole) received.push(whole.message);
        },
      });
    }
    expect(received).toEqual(sent);
  });
});

describe("MessageReader", () => {
  const read = (text: string, maxBytes = 1000) => new MessageReader(maxBytes).read(encoder.encode(text))?.message;

  it("drops own __proto__ keys at every depth, whichever of their letters are escaped", () => {
    const spelled = fc.tuple(...[..."__proto__"].map((letter) => {
      const hex = letter.charCodeAt(0).toString(16);
      return fc.constantFrom(letter, `\\u00${hex}`, `\\u00${hex.toUpperCase()}`);
    })).map((letters) => letters.join(""));
    fc.assert(fc.property(spelled, spelled, (one, other) => {
      const message = read(`{"a":{"${one}":{"x":1},"b":[{"${other}":1,"c":2}]},"${other}":null}`);
      expect(JSON.stringify(message)).toBe('{"a":{"b":[{"c":2}]}}');
      expect(Object.getPrototypeOf(message)).toBe(Object.prototype);
    }));
  });

  it("refuses what is not UTF-8 or not JSON", () => {
    for (const bytes of [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0x22, 0xe2, 0x82]]) {
      expect(() => new MessageReader(100).read(new Uint8Array(bytes))).toThrow(
        expect.objectContaining({ code: "protocol_violation", message: "A frame is not UTF-8." }),
      );
    }
    for (const text of ["", "{", "nul", "[1,]", '{"a":1}x']) {
      expect(() => read(text)).toThrow(expect.objectContaining({ code: "protocol_violation" }));
    }
  });

  it("refuses parts that are together over the limit before the last has come", () => {
    const reader = new MessageReader(1000);
    const part = encoder.encode(JSON.stringify({ type: "part", text: "x".repeat(300), last: false }));
    expect(reader.read(part)).toBeNull();
    expect(reader.read(part)).toBeNull();
    expect(() => reader.read(part)).toThrow(/over the limit of 1000 bytes/);
  });

  it("refuses parts that together are not JSON, and is empty afterwards", () => {
    const reader = new MessageReader(1000);
    const part = (text: string, last: boolean) => encoder.encode(JSON.stringify({ type: "part", text, last }));
    expect(reader.read(part('{"a":', false))).toBeNull();
    expect(() => reader.read(part("}", true))).toThrow(/not JSON/);
    expect(reader.read(part("7", true))?.message).toBe(7);
  });

  it("takes no message for a part whose fields are wrong", () => {
    const notParts = [{ type: "part" }, { type: "part", text: 1, last: true }, { type: "part", text: "", last: 1 }];
    for (const message of notParts) expect(read(JSON.stringify(message))).toEqual(message);
  });
});

function dropProto(key: string, value: unknown): unknown {
  return key === "__proto__" ? undefined : value;
}

describe("MessageReader.read of a batch of events", () => {
  const read = (text: string) => new MessageReader(1 << 20).read(encoder.encode(text));

  it("gives the text that the list was parsed from", () => {
    fc.assert(fc.property(fc.array(fc.jsonValue()), fc.nat(), (events, sid) => {
      const list = JSON.stringify(events);
      const received = read(`{"type":"events","sid":${sid},"events":${list}}`);
      expect(received?.message).toEqual({ type: "events", sid, events: JSON.parse(list, dropProto) });
      if (!list.includes("__proto__") && !list.includes("\\u00")) expect(received?.eventsText).toBe(list);
    }));
  });

  it.each([
    ["a second list", '{"type":"events","sid":1,"events":[1],"events":[2]}', { type: "events", sid: 1, events: [2] }],
    ["a further key", '{"type":"events","sid":1,"events":[1],"x":[2]}', {
      type: "events",
      sid: 1,
      events: [1],
      x: [2],
    }],
    ["another number after the list", '{"type":"events","sid":1,"events":[1],"sid":2,"a":[]}', {
      type: "events",
      sid: 2,
      events: [1],
      a: [],
    }],
    ["another order", '{"sid":1,"type":"events","events":[1]}', { type: "events", sid: 1, events: [1] }],
    ["a key that is dropped", '{"type":"events","sid":1,"events":[{"__proto__":1}]}', {
      type: "events",
      sid: 1,
      events: [{}],
    }],
    ["such a key in disguise", '{"type":"events","sid":1,"events":[{"\\u005f_proto__":1}]}', {
      type: "events",
      sid: 1,
      events: [{}],
    }],
    ["no list", '{"type":"events","sid":1,"events":{"a":[]}}', { type: "events", sid: 1, events: { a: [] } }],
  ])("gives none for a message with %s", (_name, text, message) => {
    const received = read(text);
    expect(received?.message).toEqual(message);
    expect(received?.eventsText).toBeUndefined();
  });

  it.each([
    '{"type":"events","sid":01,"events":[1]}',
    '{"type":"events","sid":1,"events":[1]]}',
    '{"type":"events","sid":1,"events":[1,]}',
    '{"type":"events","sid":1,"events":[1]}]}',
  ])("refuses %s", (text) => {
    expect(() => read(text)).toThrow("not JSON");
  });
});
