import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { TokenBucket } from "../../../core/ground/checks/token-bucket.ts";

describe("TokenBucket", () => {
  test("lets a second's worth through at once, and then as fast as it fills", () => {
    const bucket = new TokenBucket(100, 0);
    expect(bucket.take(100, 0)).toBe(0);
    expect(bucket.take(10, 0)).toBe(100);
    expect(bucket.take(10, 0)).toBe(200);
    expect(bucket.take(0, 200)).toBe(0);
    expect(bucket.take(1, 200)).toBe(10);
  });

  test("saves up no more than a second", () => {
    const bucket = new TokenBucket(10, 0);
    expect(bucket.take(10, 1_000_000)).toBe(0);
    expect(bucket.take(1, 1_000_000)).toBe(100);
  });

  test("whoever waits as told never takes more than the rate and one burst", () => {
    fc.assert(fc.property(
      fc.integer({ min: 1, max: 1000 }),
      fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 50 }),
      (perSecond, takes) => {
        const bucket = new TokenBucket(perSecond, 0);
        let now = 0;
        let taken = 0;
        for (const count of takes) {
          now += bucket.take(count, now);
          taken += count;
          expect(taken).toBeLessThanOrEqual(perSecond * (1 + now / 1000) + 1e-6);
        }
      },
    ));
  });
});
