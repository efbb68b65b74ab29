import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ByteQueue } from "../../../core/walls/channel/byte-queue.ts";

type Act = { act: "offer"; bytes: number } | { act: "take" } | { act: "takeAll" };

const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ act: fc.constant("offer" as const), bytes: fc.integer({ min: 0, max: 60 }) }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("take" as const) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("takeAll" as const) }) },
);

describe("ByteQueue", () => {
  test("gives what it accepted once and in order, and never holds more bytes than it may", () => {
    fc.assert(fc.property(fc.integer({ min: 0, max: 200 }), fc.array(act, { maxLength: 60 }), (mostBytes, acts) => {
      const queue = new ByteQueue<number>(mostBytes);
      const accepted: { item: number; bytes: number }[] = [];
      const given: number[] = [];
      for (const [item, step] of acts.entries()) {
        const waiting = accepted.slice(given.length).reduce((sum, { bytes }) => sum + bytes, 0);
        if (step.act === "offer") {
          const fits = queue.offer(item, step.bytes);
          expect(fits).toBe(waiting + step.bytes <= mostBytes);
          if (fits) accepted.push({ item, bytes: step.bytes });
        } else if (step.act === "take") {
          expect(queue.peek()).toBe(accepted[given.length]?.item);
          const item = queue.take();
          if (item !== undefined) given.push(item);
        } else given.push(...queue.takeAll());
        const left = accepted.slice(given.length);
        expect([...queue]).toEqual(left.map(({ item }) => item));
        expect(queue.length).toBe(left.length);
        expect(queue.bytes).toBe(left.reduce((sum, { bytes }) => sum + bytes, 0));
        expect(queue.bytes).toBeLessThanOrEqual(mostBytes);
      }
      expect([...given, ...queue.takeAll()]).toEqual(accepted.map(({ item }) => item));
    }));
  });
});
