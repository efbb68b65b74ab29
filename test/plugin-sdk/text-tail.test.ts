import process from "node:process";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { TextTail } from "../../plugin-sdk/text-tail.ts";

describe("TextTail", () => {
  test("gives what a string that is cut at each piece would, whatever the pieces", () => {
    const piece = fc.oneof(
      fc.string({ unit: "binary", maxLength: 20 }),
      fc.integer({ min: 0, max: 9000 }).map((n) => "ab".repeat(n)),
    );
    fc.assert(fc.property(fc.array(piece, { maxLength: 20 }), fc.integer({ min: 0, max: 20_000 }), (pieces, most) => {
      const tail = new TextTail(most);
      for (const one of pieces) tail.add(one);
      const whole = pieces.join("");
      const end = whole.slice(Math.max(0, whole.length - most));
      expect(tail.isCut).toBe(whole.length > most);
      expect(tail.text).toBe(whole.length > most ? end.replace(/^[\udc00-\udfff]/, "") : whole);
    }));
  });

  test("never begins with half a character, and keeps all of one that fits", () => {
    const tail = new TextTail(3);
    tail.add("🙂");
    expect([tail.text, tail.isCut]).toEqual(["🙂", false]);
    tail.add("🙃");
    expect([tail.text, tail.isCut]).toEqual(["🙃", true]);
  });

  test("begins anew once it is cleared", () => {
    const tail = new TextTail(5000);
    tail.add("x".repeat(9000));
    tail.add("y");
    tail.clear();
    expect([tail.text, tail.isCut]).toEqual(["", false]);
    tail.add("z");
    expect(tail.text).toBe("z");
  });

  test("pieces without text take no room", () => {
    const tail = new TextTail(10);
    const before = process.memoryUsage().heapUsed;
    for (let n = 0; n < 4_000_000; n++) tail.add("");
    // Held, they would take 32 MB.
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(16 * 1024 * 1024);
    expect(tail.text).toBe("");
  });

  test("a piece costs no copy of what is kept", () => {
    const most = 1024 * 1024;
    const tail = new TextTail(most);
    let cut = "";
    const timeFor = (pieces: number, add: (piece: string) => void): number => {
      add("x".repeat(2 * most));
      const started = performance.now();
      for (let n = 0; n < pieces; n++) add(`token ${n} `);
      return performance.now() - started;
    };
    const once = timeFor(200, (piece) => tail.add(piece));
    expect(once).toBeLessThan(timeFor(200, (piece) => cut = (cut + piece).slice(-most)) / 5);
  });
});
