import { expect, test } from "vitest";
import { ScriptPositions } from "../../../core/packages/bundler/script-positions.ts";

const sourcesOf = (sourceMap: string) => new ScriptPositions({ bundled: "", text: "", edits: [], sourceMap }).sources();

test("sources reads the names out of a source map, and nothing out of one that is none", () => {
  expect(sourcesOf(JSON.stringify({ sources: ["mod.ts", null, 7, "lib/a.ts"] }))).toEqual(["mod.ts", "lib/a.ts"]);
  for (const bad of ["", "{", "null", "[]", '{"sources":"mod.ts"}', '{"sources":{"length":3}}']) {
    expect(sourcesOf(bad), bad).toEqual([]);
  }
});

test("sources reads no more names, and no longer map, than the host's thread may take", () => {
  const names = Array.from({ length: 600 }, (_, index) => `${index}.ts`);
  expect(sourcesOf(JSON.stringify({ sources: names }))).toHaveLength(500);
  expect(sourcesOf(JSON.stringify({ sources: ["x".repeat(1_000_000)] }))).toEqual([]);
});
