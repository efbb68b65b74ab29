import fc from "fast-check";
import { expect, test } from "vitest";
import { TextFlow } from "../../../../core/doors/cli/render/text-flow.ts";
import { textWidth, wrapLines } from "../../../../core/doors/cli/render/text-width.ts";

function flow(pieces: readonly string[], width: number): string {
  const wrap = new TextFlow(width);
  return pieces.map((piece) => wrap.push(piece)).join("") + wrap.end();
}

const text = fc.string({ unit: fc.constantFrom("a", "b", " ", "\n", "語", "é", "\t"), maxLength: 80 });

test("TextFlow gives the same whatever the pieces are", () => {
  fc.assert(fc.property(text, fc.integer({ min: 4, max: 30 }), fc.nat({ max: 80 }), (whole, width, at) => {
    expect(flow([whole.slice(0, at), whole.slice(at)], width)).toBe(flow([whole], width));
    expect(flow([...whole], width)).toBe(flow([whole], width));
  }));
});

test("TextFlow never writes a line wider than it may be, and loses no word", () => {
  fc.assert(fc.property(text, fc.integer({ min: 4, max: 30 }), (whole, width) => {
    const wrapped = flow([whole], width);
    for (const line of wrapped.split("\n")) expect(textWidth(line.trimEnd())).toBeLessThanOrEqual(width);
    expect(wrapped.replace(/\s/g, "")).toBe(whole.replace(/\s/g, ""));
  }));
});

test("TextFlow breaks at words, keeps line ends and indents, and drops empty lines at the start", () => {
  expect(flow(["\n\none two three"], 8)).toBe("one two \nthree\n");
  expect(flow(["if x:\n  y\n\nz"], 20)).toBe("if x:\n  y\n\nz\n");
  expect(flow(["\r\na\r\nb"], 20)).toBe("a\nb\n");
  expect(flow([""], 20)).toBe("");
});

test("TextFlow holds a word back until it is whole", () => {
  const wrap = new TextFlow(20);
  expect(wrap.push("hel")).toBe("");
  expect(wrap.push("lo wor")).toBe("hello ");
  expect(wrap.end()).toBe("wor\n");
});

test("wrapLines breaks lines at blanks, keeps their indent, and leaves a pipe's alone", () => {
  expect(wrapLines("one two three\n  four five six\nseven", 11)).toBe("one two\nthree\n  four five\n  six\nseven");
  expect(wrapLines("one two three", 0)).toBe("one two three");
});
