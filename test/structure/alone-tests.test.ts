import { describe, expect, test } from "vitest";
import { aloneTests } from "../alone-tests.ts";
import { slowTests } from "../slow-tests.ts";
import { listFiles, readSource } from "./source.ts";

// One within a function belongs to the file that calls it.
const hooks = /^(?:after|before)(?:Each|All)\(/m;
const replacesModules = /^\s*vi\.(?:do)?[mM]ock\(/m;

describe("test files share processes, so", () => {
  test("no fixture has a hook of vitest's own, which would clear up after the first file alone", () => {
    const fixtures = listFiles("test", ".ts").filter((path) => !path.endsWith(".test.ts") && path !== "test/setup.ts");
    expect(fixtures.length).toBeGreaterThan(80);
    expect(fixtures.filter((path) => hooks.test(readSource(path)))).toEqual([]);
  });

  test("a file that replaces a module of the host runs alone", () => {
    const replacing = listFiles("test", ".test.ts").filter((path) => replacesModules.test(readSource(path)));
    expect(replacing.length).toBeGreaterThan(2);
    expect(replacing.filter((path) => !aloneTests.includes(path))).toEqual([]);
  });

  test("the lists name files that exist", () => {
    const known = listFiles("test", ".test.ts");
    expect([...aloneTests, ...slowTests].filter((path) => !known.includes(path))).toEqual([]);
  });
});
