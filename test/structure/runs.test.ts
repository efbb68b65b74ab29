import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import process from "node:process";
import { expect, test, type TestContext } from "vitest";
import type { OsWallName } from "../../core/ground/platform/os-walls/os-wall.ts";
import { needsWall } from "../ground/platform/os-walls/needs-wall.ts";
import { skipLines } from "../skip-lines.ts";
import { settings } from "../own-environment.ts";
import { listFiles, readSource, root } from "./source.ts";

test("a run has a home of its own, and nothing that a person has set for Bulkhead, git or a model", () => {
  expect(basename(process.env["HOME"] ?? "")).toMatch(/^bulkhead-home-/);
  const persons = /^(?:XDG_|GIT_|BULKHEAD_(?:URL|TOKEN|DEBUG)$)|_API_KEY$|_PROXY$/i;
  expect(Object.keys(process.env).filter((name) => persons.test(name))).toEqual([]);
});

test("skipLines counts the skipped tests of each reason", () => {
  const skipped = ["b", "a", "b"].map((skip_reason) => ({ skip_reason }));
  expect(skipLines([...skipped, {}])).toEqual(["2 tests skipped: b", "1 test skipped: a"]);
});

test("needsWall skips where a wall is missing, and fails where it is expected", async () => {
  const skipped: string[] = [];
  const context = { task: { meta: {} }, skip: (reason: string) => skipped.push(reason) } as unknown as TestContext;
  const before = process.env["BULKHEAD_EXPECT_WALLS"];
  try {
    process.env["BULKHEAD_EXPECT_WALLS"] = "bubblewrap";
    await needsWall(context, "moat" as OsWallName);
    expect(skipped).toEqual(["moat is missing here: it is unknown."]);
    expect(context.task.meta).toEqual({ skip_reason: skipped[0] });
    process.env["BULKHEAD_EXPECT_WALLS"] = "bubblewrap,moat";
    await expect(needsWall(context, "moat" as OsWallName)).rejects.toThrow('"moat" is expected here and is missing');
  } finally {
    if (before === undefined) delete process.env["BULKHEAD_EXPECT_WALLS"];
    else process.env["BULKHEAD_EXPECT_WALLS"] = before;
  }
});

test("no test is skipped but by skipBecause, which says why", () => {
  const own = ["test/skip-because.ts", "test/structure/runs.test.ts"];
  const skips = /\b(?:context|t|ctx)\.skip\(|\.(?:skip|skipIf|runIf|todo)\(|\b(?:it|test|describe)\.skip\b/;
  const found = listFiles("test").filter((file) =>
    !own.includes(file) && skips.test(readSource(file).replace(/\bsource\.skip\(/g, ""))
  );
  expect(found).toEqual([]);
});

test("the sum of a CI run names and counts files that are green only when repeated, and skips by their reason", async () => {
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-sum-"));
  try {
    const file = (status: string, tests: object[]) => ({
      name: "/elsewhere/test/a.test.ts",
      status,
      assertionResults: tests,
    });
    const red = { fullName: "a", status: "failed", failureMessages: ["no"] };
    const green = { fullName: "a", status: "passed" };
    const skip = { fullName: "b", status: "skipped", meta: { skip_reason: "no wall" } };
    const report = (name: string, ...testResults: object[]) =>
      writeFile(join(folder, name), JSON.stringify({ testResults }));
    await report("node.json", file("failed", [red, skip]));
    await report("node.again.json", file("passed", [green, skip]));
    const sum = (...suites: string[]) =>
      execFileSync(process.execPath, [...runner, join(root, ".ci/sum.mjs"), "true", folder, ...suites], {
        encoding: "utf8",
      });
    expect(sum("node")).toBe(
      "unsteady: node: test/a.test.ts: a: no\nskipped: 1 in node: no wall\n" +
        "green only when repeated: 1 (test/a.test.ts (node))\n1 passed, 0 failed\n",
    );
    await report("bare.json", file("passed", [green, { ...skip, meta: {} }]));
    expect(() => sum("bare")).toThrow(/Command failed/);
  } finally {
    await rm(folder, { recursive: true });
  }
});

const runner = "Deno" in globalThis ? ["run", "-A"] : [];

test("a setting of a named run reaches its tests, whose environment is their own", () => {
  const set = ["package.json", ".ci/run"].flatMap((path) =>
    [...readSource(path).matchAll(/\b(BULKHEAD_[A-Z_]+)=/g)].map(([, name]) => name!)
  );
  expect(set).toContain("BULKHEAD_BUDGETS");
  expect(set.filter((name) => !settings.includes(name))).toEqual([]);
});
