import { Buffer } from "node:buffer";
import { expect, test } from "vitest";
import { attachedText } from "../../plugin-sdk/attached-parts.ts";
import { base64, notes, pdf, text } from "../plugins/seen-files.ts";

test("attachedText reads every length and every character, and nothing else", () => {
  for (const said of ["a", "ab", "abc", notes, `${"x".repeat(9_999)}€🙂`.repeat(9), "%41"]) {
    expect(attachedText({ part: text, base64: base64(said) })).toBe(said);
  }
  expect(attachedText({ part: text, base64: Buffer.from([0x61, 0xff]).toString("base64") })).toBeNull();
  expect(attachedText({ part: pdf, base64: base64("a") })).toBeNull();
});
