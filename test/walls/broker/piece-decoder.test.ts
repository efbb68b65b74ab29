import fc from "fast-check";
import { expect, test } from "vitest";
import { PieceDecoder } from "../../../core/walls/broker/stream-table.ts";

/** Bytes that begin, continue and break characters of every length, and byte order marks. */
const anyByte = fc.oneof(
  fc.constantFrom(0x41, 0x80, 0xa0, 0xbf, 0xc2, 0xe0, 0xe2, 0xed, 0xef, 0xbb, 0xf0, 0x9f, 0x98, 0xf4, 0xf8, 0xff),
  fc.nat(255),
);
const anyPiece = fc.array(anyByte, { maxLength: 8 }).map((bytes) => Uint8Array.from(bytes));

test("gives what a decoder of streams gives, whatever the bytes and wherever they were cut", () => {
  fc.assert(
    fc.property(fc.array(anyPiece, { maxLength: 8 }), (pieces) => {
      const ours = new PieceDecoder();
      const theirs = new TextDecoder();
      const got = pieces.map((piece) => ours.decode(piece)).join("") + ours.end();
      const wanted = pieces.map((piece) => theirs.decode(piece, { stream: true })).join("") + theirs.decode();
      expect(got).toBe(wanted);
    }),
    { numRuns: 2000 },
  );
});

test("gives what is whole at once, and keeps a copy of the rest", () => {
  const decoder = new PieceDecoder();
  const memory = Uint8Array.of(0x61, 0xe2, 0x82);
  expect(decoder.decode(memory)).toBe("a");
  memory.fill(0);
  expect(decoder.decode(Uint8Array.of(0xac, 0x62))).toBe("\u20acb");
  expect(decoder.end()).toBe("");
});
