import fc from "fast-check";
import { Buffer } from "node:buffer";
import { describe, expect, test } from "vitest";
import { createRedactor, redact } from "../../../core/ground/log/redact.ts";
import { cleanText } from "../../../core/ground/log/terminal-text.ts";

/** How programs write a value; each is text that must not come out. */
const encodings: Record<string, (value: string) => string> = {
  plain: (value) => value,
  base64: (value) => Buffer.from(value).toString("base64"),
  base64url: (value) => Buffer.from(value).toString("base64url"),
  "base64, percent-encoded": (value) => encodeURIComponent(Buffer.from(value).toString("base64")),
  hex: (value) => Buffer.from(value).toString("hex"),
  "upper-case hex": (value) => Buffer.from(value).toString("hex").toUpperCase(),
  "percent-encoded": encodeURIComponent,
  "percent-encoded in lower case": (value) =>
    encodeURIComponent(value).replace(/%[0-9A-F]{2}/g, (found) => found.toLowerCase()),
  "percent-encoded as a form": (value) => new URLSearchParams({ "": value }).toString().slice(1),
  "percent-encoded byte by byte": (value) => [...Buffer.from(value)].map((byte) => `%${hex(byte, 2)}`).join(""),
  JSON: (value) => inner(JSON.stringify(value)),
  "JSON in JSON": (value) => inner(JSON.stringify(inner(JSON.stringify(value)))),
  "JSON in ASCII": (value) => inner(asciiJson(value)),
  "JSON in ASCII, in JSON": (value) => inner(JSON.stringify(inner(asciiJson(value)))),
  "JSON with escaped slashes": (value) => inner(JSON.stringify(value)).replaceAll("/", "\\/"),
  "escapes of C": (value) => [...Buffer.from(value)].map((byte) => `\\x${hex(byte, 2)}`).join(""),
  "made safe for a terminal": cleanText,
};
const anEncoding = fc.constantFrom(...Object.entries(encodings));

/** Half of them made of what encoders treat in a way of their own. */
const secretValue = fc.oneof(
  fc.string({ minLength: 8, maxLength: 40, unit: "grapheme" }),
  fc.string({ minLength: 8, maxLength: 40, unit: fc.constantFrom(..."ab01+/=%\\\"'\n\r\t &<>üß€😀\u202e\u007f") }),
  fc.stringMatching(/^sk-[A-Za-z0-9]{20,48}$/),
).filter((value) => !/\p{Cs}/u.test(value) && value.length >= 8);

/** Text cut at some places. */
function cut(text: string, at: readonly number[]): string[] {
  const places = [...new Set(at.map((place) => place % (text.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, index) => text.slice(from, places[index] ?? text.length));
}

function hex(number: number, length: number): string {
  return number.toString(16).padStart(length, "0");
}

function inner(json: string): string {
  return json.slice(1, -1);
}

function asciiJson(value: string): string {
  return JSON.stringify(value).replace(/[^ -~]/g, (unit) => `\\u${hex(unit.charCodeAt(0), 4)}`);
}

function streamed(secrets: { name: string; value: string }[], parts: readonly string[]): string {
  const stream = createRedactor(secrets)!.stream();
  return parts.map((part) => stream.push(part)).join("") + stream.end();
}

const surroundings = fc.string({ maxLength: 20, unit: fc.constantFrom(..." abk.,:;\n{}[]()ü") });
const places = fc.array(fc.nat(), { maxLength: 12 });

/** Text without a character that a secret of the test has. */
const padding = fc.string({ maxLength: 9, unit: fc.constantFrom(..." \n\tü") });

describe("createRedactor", () => {
  test("lets no secret through, in any encoding, between any texts, however it is cut", () => {
    fc.assert(
      fc.property(
        secretValue,
        anEncoding,
        surroundings,
        surroundings,
        places,
        (value, [, encode], before, after, at) => {
          const written = encode(value);
          const parts = cut(before + written + after, at);
          const shown = streamed([{ name: "K", value }], parts);
          expect(shown).not.toContain(written);
          expect(shown).not.toContain(value);
          expect(shown).toContain("[redacted K]");
          expect(shown).toBe(createRedactor([{ name: "K", value }])!.text(parts.join("")));
        },
      ),
      { numRuns: 3000 },
    );
  });

  test("leaves what stands around a secret", () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^sk-[A-Z0-9]{12}$/),
        surroundings,
        surroundings,
        places,
        (value, before, after, at) => {
          const shown = streamed([{ name: "K", value }], cut(`${before}\n${value}\n${after}`, at));
          expect(shown).toBe(`${before}\n[redacted K]\n${after}`);
        },
      ),
      { numRuns: 500 },
    );
  });

  test("leaves text without secrets as it is, however it is cut", () => {
    const value = "sk-QQQQQQQQQQQQ";
    fc.assert(
      fc.property(fc.string({ maxLength: 200, unit: fc.constantFrom(..."sk-Qcaz%5Cu0\\\n") }), places, (text, at) => {
        fc.pre(!text.includes(value));
        expect(streamed([{ name: "K", value }], cut(text, at))).toBe(text);
      }),
      { numRuns: 500 },
    );
  });

  test("finds a secret inside what was encoded as a whole, at every alignment", () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^[!-~]{8,60}$/),
        padding,
        padding,
        (value, a, b) => {
          for (const encoding of ["base64", "base64url"] as const) {
            const whole = Buffer.from(a + value + b).toString(encoding);
            const shown = createRedactor([{ name: "K", value }])!.text(whole);
            expect(shown).toContain("[redacted K]");
            // What is left of the encoded text holds a few bits of the first and the last character at most.
            const left = shown.split("[redacted K]").map((text) => Buffer.from(text, "base64").toString("latin1"));
            for (const text of left) expect(text).not.toContain(value.slice(0, 4));
          }
        },
      ),
      { numRuns: 1000 },
    );
  });

  test.each([64, 76])("finds base64 and hex that an encoder broke into lines of %i", (width) => {
    const value = "sk-0123456789abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ-0123456789-abcdefghijklmn";
    for (const encoding of ["base64", "hex"] as const) {
      for (let before = 0; before < width; before += 5) {
        const whole = Buffer.from("x".repeat(before) + value).toString(encoding);
        const lines = whole.replace(new RegExp(`.{${width}}`, "g"), "$&\n");
        const shown = streamed([{ name: "K", value }], lines.split(/(?<=\n)/));
        expect(shown).toContain("[redacted K]");
        const left = Buffer.from(shown.replace(/\[redacted K\]|\n/g, ""), encoding).toString("latin1");
        expect(left).not.toContain("0123456789abcdefghijklmnopqrstuvwxyz");
        expect(left).not.toContain("0123456789-abcdefghijklmn");
      }
    }
  });

  test("gives each part out at once unless its end may begin a secret", () => {
    const stream = createRedactor([{ name: "K", value: "secret-value" }])!.stream();
    expect(stream.push('{"id":1}\n')).toBe('{"id":1}\n');
    expect(stream.push("the sec")).toBe("the ");
    expect(stream.push("ond\n")).toBe("second\n");
    expect(stream.push("the secret-val")).toBe("the ");
    expect(stream.push("ue\n")).toBe("[redacted K]\n");
    // A line whose end might be an encoded beginning is not kept until the next one comes.
    expect(stream.push("c2\n")).toBe("c2\n");
    expect(stream.push("secre")).toBe("");
    expect(stream.end()).toBe("secre");
  });

  test("takes overlapping secrets out as one, under the name of the longest", () => {
    const secrets = [{ name: "A", value: "abcdefgh" }, { name: "B", value: "abcdefgh-12345" }, {
      name: "C",
      value: "12345-xyz",
    }];
    expect(redact("abcdefgh-12345 abcdefgh", secrets)).toBe("[redacted B] [redacted A]");
    expect(redact("<abcdefgh-12345-xyz>", secrets)).toBe("<[redacted B]>");
    for (const at of [1, 5, 9, 12, 17]) {
      const parts = ["<abcdefgh-12345-xyz>".slice(0, at), "<abcdefgh-12345-xyz>".slice(at)];
      expect(streamed(secrets, parts)).toBe("<[redacted B]>");
    }
  });

  test("keeps little back and little time, whatever is repeated", () => {
    const value = "aaaaaaaaaaaaaaaa";
    const shown = streamed([{ name: "K", value }], Array.from({ length: 100 }, () => "a".repeat(200)));
    expect(shown).toBe("[redacted K]");
    // Each piece may be written in one, two or four of these; without care that doubles the work at each piece.
    const slashes = "\\".repeat(16);
    expect(streamed([{ name: "K", value: slashes }], ["\\".repeat(500)])).toBe("[redacted K]");
  });

  test("redacts texts and keys at any depth, and gives back what has nothing to redact", () => {
    const redactor = createRedactor([{ name: "K", value: "hunter2-hunter2" }])!;
    const clean = { a: [1, null, { b: "text" }], c: true };
    expect(redactor.value(clean)).toBe(clean);
    const dirty = { "x-hunter2-hunter2": [1, { deep: "=hunter2-hunter2" }], clean };
    const shown = redactor.value(dirty) as unknown as Record<string, unknown>;
    expect(shown).toEqual({ "x-[redacted K]": [1, { deep: "=[redacted K]" }], clean });
    expect(shown["clean"]).toBe(clean);
    const hostile: unknown = JSON.parse('{"__proto__": "hunter2-hunter2"}');
    expect(JSON.stringify(redactor.value(hostile))).toBe('{"__proto__":"[redacted K]"}');
  });

  test("cuts off what is nested deeper than the stack could follow", () => {
    let deep: unknown = "hunter2-hunter2";
    for (let level = 0; level < 100_000; level++) deep = [deep];
    const shown = createRedactor([{ name: "K", value: "hunter2-hunter2" }])!.value(deep);
    expect(JSON.stringify(shown)).toContain("[redacted: nested too deeply]");
    expect(JSON.stringify(shown)).not.toContain("hunter2");
  });

  test("is null when there is nothing to redact", () => {
    expect(createRedactor([])).toBe(null);
    expect(createRedactor([{ name: "MODE", value: "prod" }])).toBe(null);
    expect(redact("production", [{ name: "MODE", value: "prod" }])).toBe("production");
  });
});
