import { expect, test } from "vitest";
import { listFiles, readSource } from "./source.ts";

test("the words of protocols are mapped to words that the project uses", () => {
  const table = readSource(".github/docs/words.md").split("\n## Words of protocols\n")[1] ?? "";
  const ours = [...table.matchAll(/^\| (?!Here|-)([^|]+?) +\|/gm)].map(([, cell]) => cell!);
  expect(ours.length).toBeGreaterThan(9);
  const sources = listFiles("plugin-sdk").map((path) => readSource(path)).join("\n");
  const words = ours.flatMap((cell) => cell.split(" with ")).map((cell) => cell.replaceAll("`", ""));
  expect(words.filter((word) => !new RegExp(`\\b${word}\\b`).test(sources))).toEqual([]);
});
