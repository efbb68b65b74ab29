import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readSource, root } from "./source.ts";

/** Rows of the table below a heading of ARCHITECTURE.md, as cells. */
function rowsBelow(heading: string): string[][] {
  const text = readSource(".github/ARCHITECTURE.md").split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  return text.split("\n").filter((line) => line.startsWith("|")).slice(2).map((line) =>
    line.split("|").slice(1, -1).map((cell) => cell.trim())
  );
}

/** Paths of the repository in backquotes. */
function pathsIn(cells: readonly string[]): string[] {
  return cells.flatMap((cell) =>
    [...cell.matchAll(/`((?:core|plugin-sdk|plugins)\/[^`]*)`/g)].map(([, path]) => path!)
  );
}

const isThere = (path: string) => existsSync(join(root, path));

describe("ARCHITECTURE.md", () => {
  test("a session's life is told by fourteen files, and all of them exist", () => {
    const rows = rowsBelow("A session's life in fourteen files");
    expect(rows.map(([number]) => number)).toEqual(Array.from({ length: 14 }, (_, index) => `${index + 1}`));
    expect(rows.filter((row) => !pathsIn(row).some(isThere))).toEqual([]);
  });

  test("each boundary has one file, which declares its nouns", () => {
    const rows = rowsBelow("The boundaries");
    expect(rows.length).toBeGreaterThan(5);
    for (const [between, nouns = "", file = ""] of rows) {
      const source = readSource(file.replaceAll("`", ""));
      const declared = [...nouns.matchAll(/`(\w+)`/g)].filter(([, noun]) =>
        source.includes(`export interface ${noun} `)
      );
      expect(declared.length, between).toBe(nouns.split(",").length);
    }
  });

  test.each([
    "Where is an agent's view made?",
    "Where is a denial decided?",
    "Where does a prompt become a call?",
    "Where does an event become a row?",
  ])("answers with one file: %s", (question) => {
    const [, answer = ""] = rowsBelow("Where to find it").find(([asked]) => asked === question) ?? [];
    expect(answer).toMatch(/^`core\/[a-z/-]+\.ts`$/);
  });

  test("each file and folder that an answer names exists", () => {
    const rows = rowsBelow("Where to find it");
    expect(rows.filter((row) => pathsIn(row).length === 0)).toEqual([]);
    expect(rows.flatMap(pathsIn).filter((path) => !isThere(path))).toEqual([]);
  });
});
