import { dirname } from "node:path";
import { describe, expect, test } from "vitest";
import { namesOf } from "./exported-names.ts";
import { listFiles, readSource } from "./source.ts";

/** The table that stands below "Budget" in the decisions: what it counts, and the most there may be. */
const budget = new Map(
  (readSource(".github/decisions/house.md").split("\n## Budget\n")[1] ?? "").split("\n")
    .flatMap((line) => [...line.matchAll(/^\| ([^|]+?) +\| +([\d,]+) +\|/g)])
    .map(([, name = "", most = ""]) => [name, Number(most.replaceAll(",", ""))]),
);

const files = listFiles("core", /./);

/** Names of all that a file exports as types. */
function typesOf(path: string): string[] {
  return namesOf(path, readSource(path)).exported.filter(({ kind }) => kind === "type").map(({ name }) => name);
}

const counted: Record<string, () => number> = {
  "lines of core": () => files.reduce((sum, path) => sum + readSource(path).split("\n").length - 1, 0),
  "files of core": () => files.length,
  "files in a folder": () => Math.max(...perFolder().values()),
  "types that a file of core exports to another": () =>
    files.filter((path) => /\.tsx?$/.test(path)).reduce((sum, path) => sum + typesOf(path).length, 0),
};

function perFolder(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const folder of files.map(dirname)) counts.set(folder, (counts.get(folder) ?? 0) + 1);
  return counts;
}

describe("the budget of .github/decisions/house.md", () => {
  test("names what is counted", () => {
    expect([...budget.keys()]).toEqual(Object.keys(counted));
  });

  test.each(Object.keys(counted))("%s: a larger figure needs a line there", (name) => {
    expect(counted[name]!()).toBeLessThanOrEqual(budget.get(name) ?? 0);
  });
});
