import { describe, expect, test } from "vitest";
import { dataBytes, openFiles } from "../../../../core/ground/platform/os-walls/prlimit.ts";
import { needsWall } from "./needs-wall.ts";
import { runConfined } from "./run-confined.ts";

const megabyte = 1024 * 1024;

describe("prlimit", () => {
  test("turns a buffer of 2 GiB into an error that code can catch", async (context) => {
    await needsWall(context, "prlimit");
    expect((await runConfined("take-much.mjs", { walls: ["prlimit"], args: ["buffer"] })).report)
      .toEqual({ thrown: "RangeError" });
    expect((await runConfined("take-much.mjs", { walls: [], args: ["buffer"] })).report).toEqual({
      bytes: 2 * 2 ** 30,
    });
  });

  test("keeps touched memory under the limit", async (context) => {
    await needsWall(context, "prlimit");
    const { output } = await runConfined("take-much.mjs", { walls: ["prlimit"], args: ["memory"] });
    const report = JSON.parse(output.split("\n").filter((line) => line.startsWith("{")).at(-1) ?? "{}");
    // An error in the program, or the end of it: either way it got no more.
    expect(report.taken_mb, output).toBeGreaterThanOrEqual(64);
    expect(report.taken_mb).toBeLessThan(256);
    // Beside what it took there are the executable's own pages, which are the same for all processes that run it.
    expect(report.peak_mb).toBeLessThan(256 + 96);
    const free = await runConfined("take-much.mjs", { walls: [], args: ["memory"] });
    expect(free.report).toMatchObject({ taken_mb: 1024 });
  });

  test("bounds open files and makes no core dumps", async (context) => {
    await needsWall(context, "prlimit");
    const { report } = await runConfined("take-much.mjs", { walls: ["prlimit"], args: ["files"] });
    expect(report).toMatchObject({ thrown: "EMFILE", core: "0" });
    expect(report["opened"]).toBeLessThan(64);
    const wider = await runConfined("take-much.mjs", {
      walls: ["prlimit"],
      args: ["files"],
      confinement: { openFiles: 200 },
    });
    expect(wider.report["opened"]).toBeGreaterThan(64);
  });

  test("grants what a runtime needs to start, however little the operator allows", async (context) => {
    await needsWall(context, "prlimit");
    const confinement = { rssMb: 1, openFiles: 1, workers: 1 };
    expect((await runConfined("take-much.mjs", { walls: ["prlimit"], args: ["files"], confinement })).report)
      .toMatchObject({ thrown: "EMFILE" });
    expect(dataBytes({ ...confinement, readable: [] })).toBeGreaterThanOrEqual(160 * megabyte);
    expect(openFiles({ ...confinement, readable: [] })).toBe(40);
  });
});
