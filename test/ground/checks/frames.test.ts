import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeFrame, FrameReader, headerBytes, wrapFrame } from "../../../core/ground/checks/frames.ts";
import { joinBytes } from "../../../core/ground/platform/files/join-bytes.ts";

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const lane = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const messages = fc.array(fc.record({ lane, text: fc.string({ unit: "grapheme", maxLength: 300 }) }), {
  maxLength: 12,
});

interface Read {
  lane: number;
  text: string;
}

/** Feeds bytes in pieces of the given sizes, taken in turn; frames are copied at once, as a reader must. */
function readInPieces(
  bytes: Uint8Array,
  { sizes, maxBytes = 1 << 20 }: { sizes: number[]; maxBytes?: number },
): Read[] {
  const reader = new FrameReader(maxBytes);
  const read: Read[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length]!;
    // A piece has a buffer of its own that is overwritten afterwards: nothing may be kept of it.
    const piece = bytes.slice(at, at + size);
    reader.push(piece, (frame) => read.push({ lane: frame.lane, text: decoder.decode(frame.payload) }));
    piece.fill(0xff);
    at += size;
  }
  expect(reader.partial).toBe(false);
  return read;
}

describe("FrameReader", () => {
  it("gives the same frames in the same order however the bytes are cut", () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 70 }), { minLength: 1, maxLength: 8 });
    fc.assert(fc.property(messages, sizes, (sent, cut) => {
      const bytes = joinBytes(sent.map((one) => encodeFrame(one.lane, one.text)));
      expect(readInPieces(bytes, { sizes: cut })).toEqual(sent);
    }));
  });

  it("takes a frame of exactly the limit, and refuses one byte more by its header alone", () => {
    fc.assert(fc.property(fc.integer({ min: 0, max: 2000 }), (maxBytes) => {
      const fits = wrapFrame(1, new Uint8Array(maxBytes));
      let frames = 0;
      new FrameReader(maxBytes).push(fits, ({ payload }) => {
        expect(payload.length).toBe(maxBytes);
        frames++;
      });
      expect(frames).toBe(1);
      const header = wrapFrame(1, new Uint8Array(maxBytes + 1)).subarray(0, headerBytes);
      expect(() => new FrameReader(maxBytes).push(header, () => {})).toThrow(
        expect.objectContaining({ code: "protocol_violation" }),
      );
    }));
  });

  it("hands out the frames before one that is too large", () => {
    const bytes = joinBytes([encodeFrame(1, "fine"), wrapFrame(1, new Uint8Array(100))]);
    const seen: string[] = [];
    const push = () => new FrameReader(50).push(bytes, ({ payload }) => seen.push(decoder.decode(payload)));
    expect(push).toThrow(/over the limit of 50/);
    expect(seen).toEqual(["fine"]);
  });

  it("is partial from the first byte of a frame until its last", () => {
    const frame = encodeFrame(3, "four");
    const reader = new FrameReader(100);
    expect(reader.partial).toBe(false);
    for (let at = 0; at < frame.length; at++) {
      let whole = false;
      reader.push(frame.slice(at, at + 1), () => (whole = true));
      expect(whole).toBe(at === frame.length - 1);
      expect(reader.partial).toBe(at < frame.length - 1);
    }
  });

  it("gives frames without payload", () => {
    const bytes = joinBytes([wrapFrame(7, new Uint8Array(0)), wrapFrame(8, new Uint8Array(0))]);
    expect(readInPieces(bytes, { sizes: [3] })).toEqual([{ lane: 7, text: "" }, { lane: 8, text: "" }]);
  });
});

describe("encodeFrame", () => {
  it("holds the text's UTF-8 and its length, for text of any script and any size", () => {
    const wide = fc.tuple(fc.constantFrom("a", "é", "€", "😀", "\u0000"), fc.nat(3000)).map(([unit, count]) =>
      unit.repeat(count)
    );
    fc.assert(fc.property(lane, fc.oneof(fc.string({ unit: "grapheme" }), wide), (id, text) => {
      const frame = encodeFrame(id, text);
      const bytes = new TextEncoder().encode(text);
      const header = new DataView(frame.buffer, frame.byteOffset);
      expect([header.getUint32(0, true), header.getUint32(4, true)]).toEqual([bytes.length, id]);
      expect(frame.subarray(headerBytes)).toEqual(bytes);
      expect(frame.byteOffset).toBe(0);
    }));
  });
});

describe("wrapFrame and joinBytes", () => {
  it("copy into a buffer of their own, which can be given away", () => {
    const payload = new TextEncoder().encode("payload");
    const frame = wrapFrame(2, payload);
    const joined = joinBytes([frame, frame]);
    payload.fill(0);
    frame.fill(0);
    expect(joined.buffer.byteLength).toBe(2 * (headerBytes + 7));
    expect(readInPieces(joined, { sizes: [1000] })).toEqual([{ lane: 2, text: "payload" }, {
      lane: 2,
      text: "payload",
    }]);
  });
});
