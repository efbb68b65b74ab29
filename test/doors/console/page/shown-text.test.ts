import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { plainText, textPieces } from "../../../../core/doors/console/page/shown-text.ts";

// deno-lint-ignore no-control-regex
const acting = /[\u0000-\u0008\u000b-\u001f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/;

const names = (text: string): string[] => textPieces(text).flatMap((one) => typeof one === "string" ? [] : [one.name]);

describe("textPieces", () => {
  test("leaves every script, emoji, tabs and ends of lines as they are", () => {
    const text = "grüße 世界 שלום مرحبا 🦀 ❤\ufe0f\ttab\r\nline\n";
    expect(textPieces(text).join("")).toBe(text);
  });

  test("names characters that change the order of a text or are not seen", () => {
    expect(names("safe\u202etxt.exe\u202c")).toEqual(["U+202E", "U+202C"]);
    expect(names("\u2066in\u2069 zero\u200bwidth \ufeff soft\u00adhyphen")).toEqual([
      "U+2066",
      "U+2069",
      "U+200B",
      "U+FEFF",
      "U+00AD",
    ]);
    expect(names("hidden \u{e0041} tag")).toEqual(["U+E0041"]);
  });

  test("shows control characters by their pictures, and a return that stands alone", () => {
    expect(names("\u0000\u0007\u001b\rover")).toEqual(["␀", "␇", "␛", "␍"]);
    expect(names("\u007f\u0085")).toEqual(["U+007F", "U+0085"]);
  });

  test("names half a character", () => {
    expect(names("a\ud83eb\udd80c")).toEqual(["U+D83E", "U+DD80"]);
  });

  test("loses nothing and lets nothing act, whatever the text is", () => {
    const units = fc.array(fc.oneof(fc.nat(0xffff), fc.nat(0x7f), fc.integer({ min: 0x2000, max: 0x2070 })));
    fc.assert(fc.property(units, (codes) => {
      const text = String.fromCharCode(...codes);
      const plain = textPieces(text).filter((one) => typeof one === "string").join("");
      expect(plain.replaceAll("\r\n", "\n")).not.toMatch(acting);
      const named = names(text).reduce((sum, name) => sum + (/^U\+.{5,}$/.test(name) ? 2 : 1), 0);
      expect(plain.length + named).toBe(text.length);
    }));
  });
});

describe("plainText", () => {
  test("makes one line of a text, and cuts it", () => {
    expect(plainText("one\n  two\u202e", 100)).toBe("one twoU+202E");
    expect(plainText("x".repeat(500), 10)).toBe("xxxxxxxxxx…");
  });
});
