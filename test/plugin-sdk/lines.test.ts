import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { splitLines, splitText } from "../../plugin-sdk/lines.ts";

async function* from(pieces: readonly string[]): AsyncGenerator<string> {
  yield* pieces;
}

async function linesOf(pieces: readonly string[], limit?: number): Promise<string[]> {
  const lines: string[] = [];
  for await (const list of splitLines(from(pieces), limit === undefined ? {} : { limit })) lines.push(...list);
  return lines;
}

describe("splitLines", () => {
  test("drops line ends, keeps blank lines and gives the last line without an end", async () => {
    expect(await linesOf(["a\r\nb\n\n", "c"])).toEqual(["a", "b", "", "c"]);
    expect(await linesOf([])).toEqual([]);
    expect(await linesOf(["", "\n"])).toEqual([""]);
  });

  test("gives the same lines however the text is cut", async () => {
    const text = fc.array(fc.constantFrom("a", "b", "\n", "\r\n", "é", "😀")).map((parts) => parts.join(""));
    await fc.assert(fc.asyncProperty(text, fc.array(fc.nat(40)), async (whole, cuts) => {
      const at = [0, ...cuts.map((cut) => Math.min(cut, whole.length)).sort((a, b) => a - b), whole.length];
      const pieces = at.slice(1).map((end, index) => whole.slice(at[index], end));
      const wanted = whole.split("\n").map((line) => line.replace(/\r$/, ""));
      if (wanted.at(-1) === "") wanted.pop();
      expect(await linesOf(pieces)).toEqual(wanted);
    }));
  });

  test("keeps a line of megabytes whole, in whatever pieces it comes", async () => {
    const long = "x".repeat(4_000_000);
    const pieces = splitText(`${long}\nend\n`, 1000);
    expect(await linesOf(pieces)).toEqual([long, "end"]);
  });

  test("gives a line that is too long as one bad line, in whatever pieces it comes", async () => {
    const forged = `{"x":"${"f".repeat(2993)}{"forged":1}`;
    const wanted = [`${forged.slice(0, 1024)}…`, "next"];
    for (const size of [1, 7, 1500, 2999, 3000, 3001, 9000]) {
      expect(await linesOf(splitText(`${forged}\r\nnext\n`, size), 2000)).toEqual(wanted);
      expect(await linesOf(splitText(forged, size), 2000)).toEqual(wanted.slice(0, 1));
      expect(await linesOf(splitText(`${"a".repeat(2000)}\r\nb`, size), 2000)).toEqual(["a".repeat(2000), "b"]);
    }
    const [padded] = await linesOf([`{"a":1}${" ".repeat(3000)}`], 2000);
    expect(() => JSON.parse(padded ?? "")).toThrow();
  });

  test("cuts a long line of text, and loses nothing", async () => {
    const lines: string[] = [];
    for await (const list of splitLines(from(["aaaaa", "aaaaa", "aaaaa\nb"]), { limit: 4, overlong: "cut" })) {
      lines.push(...list);
    }
    expect(lines.join("")).toBe(`${"a".repeat(15)}b`);
    expect(lines.at(-1)).toBe("b");
  });

  test("closes its source when the reader leaves", async () => {
    let closed = false;
    async function* source(): AsyncGenerator<string> {
      try {
        for (;;) yield "line\n";
      } finally {
        closed = true;
      }
    }
    for await (const _lines of splitLines(source())) break;
    expect(closed).toBe(true);
  });
});

describe("splitText", () => {
  test("cuts to the length, never inside a character, and loses nothing", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 2, max: 5 }), (text, length) => {
      const parts = splitText(text, length);
      expect(parts.join("")).toBe(text);
      for (const part of parts) {
        expect(part.length).toBeGreaterThan(0);
        expect(part.length).toBeLessThanOrEqual(length);
        // A lone half of a character would come back as a replacement character.
        expect(new TextDecoder().decode(new TextEncoder().encode(part))).toBe(part);
      }
    }));
  });
});
