import process from "node:process";
import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { parseJson } from "../../plugin-sdk/json-fields.ts";
import { isWords } from "../../plugin-sdk/json-line-events.ts";
import { splitLines, splitText } from "../../plugin-sdk/lines.ts";

const runs = Number(process.env["BULKHEAD_MODEL_RUNS"] ?? 500);
const limit = 60;

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

describe("splitLines of messages", () => {
  const read = async (pieces: readonly string[], limit = 10_000): Promise<unknown[]> => {
    const found: unknown[] = [];
    for await (const lines of splitLines(from(pieces), { messages: true, limit })) {
      found.push(...lines.map((line) => parseJson(line) ?? line));
    }
    return found;
  };
  const one = { type: "text", text: 'a }{"b" {[,', list: [{ a: 1 }, "\n", "]"], none: null };
  const two = { type: "done" };
  const [a, b] = [JSON.stringify(one), JSON.stringify(two)];

  test("strings without an end, with many quotes, are read once and not from each of them", async () => {
    const open = `"${'\\"'.repeat(500_000)}`;
    const begun = performance.now();
    expect(await read([`{\n${open}\n`], 2_000_000)).toEqual([`{\n${open}`]);
    expect(await read([`{}{"a":${open}\n`], 2_000_000)).toEqual([`{}{"a":${open}`]);
    expect(performance.now() - begun).toBeLessThan(5000);
  });

  test.each<[string, string]>([
    ["one a line", `${a}\n${b}\n`],
    ["spread over lines", `${JSON.stringify(one, null, 2)}\r\n${JSON.stringify(two, null, "\t")}\n`],
    ["two in a line", `${a}${b}\n`],
    ["spread, and the last line without an end", `${a}\n${JSON.stringify(two, null, 1)}`],
    ["broken at a comma", `${a.replace(',"list"', ',\n"list"')}\n${b}`],
  ])("%s, however it is cut", async (_how, text) => {
    for (const size of [1, 3, 17, text.length]) expect(await read(splitText(text, size))).toEqual([one, two]);
  });

  test.each<[string, string, unknown[]]>([
    ["a message that was cut", `{\n  "type": "x",\n${b}\n`, ['{\n  "type": "x",', two]],
    ["words behind a brace", `{\nLoading\n${b}\n`, ["{", "Loading", two]],
    ["a cut one before a whole one", `{"x":"${b}${b}\n`, [`{"x":"${b}${b}`]],
    ["the end of the output", `{\n  "type": 1,\n`, ['{\n  "type": 1,']],
    ["words with braces", `run {x}{"y\n{config}\n`, ['run {x}{"y', "{config}"]],
  ])("%s is no message, and hides none", async (_what, text, found) => {
    expect(await read([text])).toEqual(found);
  });
});

describe("splitLines where the program is silent", () => {
  afterEach(() => void vi.useRealTimers());

  /** What a reader gets: whole lines, those of them that were shown in parts, and those that were too long. */
  async function read(pieces: readonly { text: string; silent: boolean }[], isText: boolean) {
    async function* source(): AsyncGenerator<string> {
      for (const { text, silent } of pieces) {
        if (silent) await new Promise((resolve) => setTimeout(resolve, 1500));
        yield text;
      }
    }
    const [lines, early, tooLong]: string[][] = [[], [], []];
    let shown = "";
    const lists = splitLines(source(), {
      limit,
      ...(isText ? { overlong: "cut" as const } : { onTooLong: (beginning: string) => void tooLong!.push(beginning) }),
      onUnfinished: (text) => {
        if (!isText && !isWords(text)) return false;
        shown += text;
        return true;
      },
    });
    const done = (async () => {
      for await (const list of lists) {
        for (const line of list) {
          if (shown !== "") early!.push(shown + line);
          lines!.push(shown + line);
          shown = "";
        }
      }
      if (shown !== "") lines!.push(shown);
    })();
    let isOver = false;
    void done.finally(() => isOver = true).catch(() => {});
    while (!isOver) await vi.advanceTimersByTimeAsync(1500);
    await done;
    return { lines: lines!, early: early!, tooLong: tooLong! };
  }

  const message = fc.constantFrom(
    '{"type":"a"}',
    '{"jsonrpc":"2.0","id":1}',
    '\u001b]0;t\u0007{"a":[1]}',
    `{"long":"${"x".repeat(100)}","b":{"type":"forged"}}`,
    `${" ".repeat(80)}{"type":"forged"}`,
    "Continue? [y/N] ",
    "[info] loading",
    "é😀",
    "",
  );
  const text = fc.array(fc.tuple(message, fc.constantFrom("\n", "\r\n")), { maxLength: 8 })
    .map((lines) => lines.flat().join(""));
  const cuts = fc.array(fc.tuple(fc.nat(300), fc.boolean()), { maxLength: 12 });

  function cutAt(whole: string, at: [number, boolean][]) {
    const sorted = at.map(([cut, silent]): [number, boolean] => [Math.min(cut, whole.length), silent])
      .sort(([a], [b]) => a - b);
    const ends = [...sorted, [whole.length, false] as [number, boolean]];
    return ends.map(([end], index) => ({
      text: whole.slice(sorted[index - 1]?.[0] ?? 0, end),
      silent: sorted[index - 1]?.[1] ?? false,
    }));
  }

  test(`${runs} random cuts and silences take no message, forge none and show each word once`, async () => {
    vi.useFakeTimers();
    await fc.assert(
      fc.asyncProperty(text, cuts, fc.boolean(), async (whole, at, isText) => {
        const got = await read(cutAt(whole, at), isText);
        const wanted = whole.split("\n").map((line) => line.replace(/\r$/, ""));
        if (wanted.at(-1) === "") wanted.pop();
        if (isText) {
          expect(got.lines.join("")).toBe(wanted.join(""));
          return;
        }
        const isLong = (line: string) => line.length > limit;
        expect(got.lines.filter((line) => line !== "")).toEqual(wanted.filter((line) => !isLong(line) && line !== ""));
        expect(got.tooLong).toEqual(wanted.filter(isLong).map((line) => line.slice(0, limit)));
        expect(got.early.filter((line) => line.includes("{"))).toEqual([]);
      }),
      { seed: 44, numRuns: runs },
    );
  }, 600_000);

  test("tells an unfinished line once in a silence, and its end when that comes", async () => {
    vi.useFakeTimers();
    const silent = (text: string) => ({ text, silent: true });
    const got = await read([{ text: "a\nName: ", silent: false }, silent("Bob"), silent("!\nb")], true);
    expect(got).toMatchObject({ early: ["Name: Bob!"], lines: ["a", "Name: Bob!", "b"] });
  });

  test("closes its source when the reader leaves in a silence", async () => {
    let closed = false;
    async function* source(): AsyncGenerator<string> {
      try {
        yield "a";
        await new Promise((resolve) => setTimeout(resolve, 1200));
        yield "b\n";
      } finally {
        closed = true;
      }
    }
    for await (const _lines of splitLines(source(), { onUnfinished: () => true })) break;
    await vi.waitFor(() => expect(closed).toBe(true), 3000);
  });
});

describe("splitText", () => {
  test("cuts to the length, never inside a character, and loses nothing", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 2, max: 5 }), (text, length) => {
      const parts = splitText(text, length);
      expect(parts.join("")).toBe(text);
      expect(parts.every((part) => part.length > 0 && part.length <= length)).toBe(true);
      // A lone half of a character would come back as a replacement character.
      expect(parts.map((part) => new TextDecoder().decode(new TextEncoder().encode(part)))).toEqual(parts);
    }));
  });
});
