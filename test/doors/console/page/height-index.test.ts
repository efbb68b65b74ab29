import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HeightIndex } from "../../../../core/doors/console/page/height-index.ts";

describe("HeightIndex", () => {
  test("guesses heights until they are measured", () => {
    const heights = new HeightIndex(20);
    heights.resize(1000);
    expect(heights.total).toBe(20_000);
    expect(heights.set(3, 50)).toBe(30);
    expect(heights.set(3, 50.2)).toBe(0);
    expect(heights.set(1000, 50)).toBe(0);
    expect(heights.before(4)).toBe(110);
    expect(heights.total).toBe(20_030);
  });

  test("finds the block at a place, the first before all and the last after all", () => {
    const heights = new HeightIndex(10);
    expect(heights.at(0)).toBe(0);
    heights.resize(5);
    heights.set(1, 100);
    expect([-5, 0, 9, 10, 109, 110, 139, 140, 9999].map((place) => heights.at(place))).toEqual(
      [0, 0, 0, 1, 1, 2, 4, 4, 4],
    );
  });

  test("agrees with a plain list after any growth, measurement and new beginning", () => {
    const step = fc.oneof(
      fc.record({ count: fc.nat(300) }),
      fc.record({ index: fc.nat(300), height: fc.integer({ min: 1, max: 500 }) }),
    );
    fc.assert(fc.property(fc.array(step, { maxLength: 40 }), fc.nat(20_000), (steps, place) => {
      const heights = new HeightIndex(30);
      let list: number[] = [];
      for (const one of steps) {
        if ("count" in one) {
          heights.resize(one.count);
          if (one.count < list.length) list = [];
          list = Array.from({ length: one.count }, (_, index) => list[index] ?? 30);
        } else {
          heights.set(one.index, one.height);
          if (one.index < list.length) list[one.index] = one.height;
        }
      }
      const before = (index: number): number => list.slice(0, index).reduce((sum, height) => sum + height, 0);
      expect(heights.count).toBe(list.length);
      expect(heights.total).toBe(before(list.length));
      const found = list.findIndex((_, index) => place < before(index + 1));
      expect(heights.at(place)).toBe(found === -1 ? Math.max(0, list.length - 1) : found);
    }));
  });

  test("bears a million blocks", () => {
    const heights = new HeightIndex(24);
    heights.resize(1_000_000);
    heights.set(999_999, 100);
    expect(heights.total).toBe(24 * 999_999 + 100);
    expect(heights.at(24 * 500_000)).toBe(500_000);
  });
});
