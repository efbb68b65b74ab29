import { expect, test } from "vitest";
import { parseHostManifest } from "../../../core/ground/config/parse-host-manifest.ts";
import { parseYaml } from "../../../core/ground/config/yaml.ts";
import type { BulkheadError } from "../../../plugin-sdk/errors.ts";

function excerptsOf(act: () => unknown): string[] {
  try {
    act();
  } catch (error) {
    const { problems } = (error as BulkheadError).details as { problems: { excerpt?: string }[] };
    return problems.map(({ excerpt = "none" }) => excerpt);
  }
  throw new Error("Nothing was refused.");
}

function inHostManifest(text: string): string[] {
  return excerptsOf(() => parseHostManifest(text, { file: "bulkhead.yaml", env: () => undefined }));
}

test("a problem of a plugin's file shows its line, with a caret below the place", () => {
  const text = "id: demo\nname: [a\nversion: 1\n";
  expect(excerptsOf(() => parseYaml(text, { file: "plugin.yaml", maxBytes: 1000, maxAliases: 0 }))).toEqual([
    "3 | version: 1\n  | ^",
  ]);
});

test("a problem of an operator's file shows no value but the one that it names", () => {
  expect(inHostManifest("bulkhead: 1\nlimits:\n\tx: 1\n")).toEqual(["3 |  x: (hidden)\n  | ^"]);
  expect(inHostManifest("bulkhead: 1\nlimits: { timeout_ms: 10q, workers: 7 }\n")).toEqual([
    "2 | limits: { timeout_ms: 10q, workers: (hidden) }\n  |                       ^",
  ]);
  // The caret stands below its place, however long what is hidden before it is.
  const long = `sk-${"9".repeat(60)}`;
  expect(inHostManifest(`bulkhead: 1\nlimits: { workers: "${long} and more", timeout_ms: 10q }\n`)).toContainEqual(
    expect.stringMatching(/^2 \| limits: \{ workers: "\(hidden\)", timeout_ms: 10q \}\n {2}\| {44}\^$/),
  );
  expect(inHostManifest('bulkhead: 1\nplugins: { a: { config: { token: "sk-1234 } } }\n')[0]).not.toContain("1234");
  expect(inHostManifest("bulkhead: 1\nplugins: { a: { config: { token: [sk-1234, b: } } }\n").join()).not.toContain(
    "1234",
  );
  expect(inHostManifest('bulkhead: 1\nsecrets: { KEY: { value: "sk-1234" } }\n').join()).not.toContain("1234");
});

test("a long line is shown around the place", () => {
  const text = `a: ${"x".repeat(500)}\n${" ".repeat(300)}b: [}\n`;
  for (const excerpt of excerptsOf(() => parseYaml(text, { file: "p.yaml", maxBytes: 2000, maxAliases: 0 }))) {
    const [line, caret] = excerpt.split("\n");
    expect(line!.length).toBeLessThan(120);
    expect(caret!.length).toBeLessThan(120);
  }
});
