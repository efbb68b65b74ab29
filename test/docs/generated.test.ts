import { describe, expect, test } from "vitest";
import { documents } from "../structure/snippets.ts";
import { readSource } from "../structure/source.ts";
import { generated } from "./generated.ts";
import { asRead, partsOf } from "./parts.ts";

const parts = documents().flatMap((path) => partsOf(readSource(path)).map((part) => ({ path, ...part })));

describe("generated parts of the documents", () => {
  test.each(parts)("$path: $name says what the code says (npm run docs writes it)", ({ name, text }) => {
    expect(asRead(text)).toBe(asRead(generated[name]!()));
  });

  test("each one stands in a document", () => {
    expect([...new Set(parts.map(({ name }) => name))].sort()).toEqual(Object.keys(generated).sort());
  });

  test("asRead sees a changed cell, and neither widths nor blank lines", () => {
    expect(asRead("| a | b |\n| --- | --- |\n| 1 | 2 |")).toBe(asRead("| a   | b |\n| :-- | --: |\n\n| 1   | 2 |"));
    expect(asRead("| a |\n| --- |\n| 1 |")).not.toBe(asRead("| a |\n| --- |\n| 2 |"));
  });
});
