import { Buffer } from "node:buffer";
import { expect, test } from "vitest";
import { GrownBytes } from "../../../../core/ground/platform/files/grown-bytes.ts";

test.each([0, 1, 3, 255, 256, 257, 5000, 1_100_000])("GrownBytes gives back what came in pieces of %i", (size) => {
  const grown = new GrownBytes();
  const pieces = Array.from({ length: 40 }, (_, index) => Buffer.alloc(index % 3 === 0 ? size : 7, index));
  for (const piece of pieces) {
    const given = Buffer.from(piece);
    grown.push(given);
    // The memory is used again.
    given.fill(255);
  }
  const whole = Buffer.concat(pieces);
  expect(grown.length).toBe(whole.length);
  expect(Buffer.compare(Buffer.from(grown.take().buffer), whole)).toBe(0);
  expect([grown.length, grown.take().length]).toEqual([0, 0]);
});
