import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cleanLine, cleanText } from "../../../core/ground/log/terminal-text.ts";

// deno-lint-ignore no-control-regex
const dangerous = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|\p{Cs}/u;

describe("cleanText", () => {
  test.each([
    ["a colour", "\u001b[31mred", "\\u{1b}[31mred"],
    ["the clipboard", "\u001b]52;c;aGk=\u0007", "\\u{1b}]52;c;aGk=\\u{7}"],
    ["an eight-bit escape", "\u009b2J", "\\u{9b}2J"],
    ["a return to the line's start", "safe\rfake", "safe\\u{d}fake"],
    ["a second line", "a\nb\tc", "a\\u{a}b\\u{9}c"],
    ["text turned round", "\u202egpj.exe", "\\u{202e}gpj.exe"],
    ["an isolate", "\u2066x\u2069", "\\u{2066}x\\u{2069}"],
    ["a zero-width blank", "ad\u200bmin", "ad\\u{200b}min"],
    ["a byte order mark", "\ufeffx", "\\u{feff}x"],
    ["tag characters", "a\u{e0041}b", "a\\u{e0041}b"],
    ["half a character", "a\ud800b", "a\\u{d800}b"],
    ["a rubout", "a\u007f", "a\\u{7f}"],
  ])("escapes %s", (_what, text, clean) => {
    expect(cleanText(text)).toBe(clean);
  });

  test("leaves text in any script as it is", () => {
    const text = "naïve Straße 漢字 עברית العربية 🙂 \\u{1b} ~`";
    expect(cleanText(text)).toBe(text);
  });

  test("keeps lines and tabs when asked to, and nothing else", () => {
    expect(cleanText("a\n\tb\r\u001b", { keepLines: true })).toBe("a\n\tb\\u{d}\\u{1b}");
  });

  test("leaves nothing dangerous in any text", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), fc.array(fc.nat(0xffff)), (text, units) => {
      const clean = cleanText(text + String.fromCharCode(...units));
      expect(clean).not.toMatch(dangerous);
      expect(cleanText(clean)).toBe(clean);
    }));
  });
});

describe("cleanLine", () => {
  test("cuts long text and counts what is left out", () => {
    expect(cleanLine("abcdef", 4)).toBe("abcd… (2 more)");
    expect(cleanLine("abcd", 4)).toBe("abcd");
  });
});
