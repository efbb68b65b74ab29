import { expect, test } from "vitest";
import { hardWords } from "../lint/hard-words.ts";
import { documents } from "../structure/snippets.ts";
import { readSource } from "../structure/source.ts";

test("documents have no word that readers stumble over", () => {
  const found = documents().flatMap((path) => {
    const text = readSource(path).replaceAll(/^```[\s\S]*?^```$/gm, "").replaceAll(/`[^`\n]*`/g, "").replaceAll(
      /\s+/g,
      " ",
    );
    const word = hardWords.exec(text)?.[0];
    return word === undefined ? [] : [`${path}: ${word}`];
  });
  expect(found).toEqual([]);
});
