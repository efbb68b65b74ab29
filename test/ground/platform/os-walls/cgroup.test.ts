import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { probeCgroup } from "../../../../core/ground/platform/os-walls/cgroup.ts";
import type { Confinement } from "../../../../core/ground/platform/os-walls/os-wall.ts";
import { needsWall } from "./needs-wall.ts";
import { runConfined } from "./run-confined.ts";

// Plain files in place of the kernel's: what is written, and where, is what is looked at.
let root: string;
const confinement: Confinement = { rssMb: 300, openFiles: 64, workers: 2, readable: [] };

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-cgroup-")));
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function tree(files: Record<string, string>): Promise<{ root: string; ownGroup: string }> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text);
  }
  return { root: join(root, "fs"), ownGroup: join(root, "own") };
}

async function reasonOf(files: Record<string, string>): Promise<string> {
  const probed = await probeCgroup(await tree(files));
  return probed.active ? "active" : probed.reason;
}

describe("probeCgroup", () => {
  test("says what is missing", async () => {
    expect(await reasonOf({ own: "4:memory:/x\n" })).toMatch(/no cgroup version 2 hierarchy/);
    expect(await reasonOf({ "fs/cgroup.controllers": "memory pids", own: "4:memory:/x\n" })).toMatch(/No group above/);
    expect(
      await reasonOf({ "fs/a/b/cgroup.subtree_control": "", "fs/cgroup.subtree_control": "memory", own: "0::/a/b\n" }),
    )
      .toMatch(/No group above the host hands on the memory and pids controllers/);
  });

  test("never leaves the hierarchy to look for a parent", async () => {
    expect(await reasonOf({ "cgroup.subtree_control": "memory pids", "fs/cgroup.controllers": "", own: "0::/\n" }))
      .toMatch(/No group above/);
  });

  test("makes a group with limits below the nearest parent that hands on controllers", async () => {
    const places = await tree({
      "fs/cgroup.controllers": "",
      "fs/a/cgroup.subtree_control": "cpu memory pids\n",
      "fs/a/b/c/x": "",
      own: "0::/a/b/c\n",
    });
    const probed = await probeCgroup(places);
    if (!probed.active) throw new Error(probed.reason);
    const { command } = await probed.wrap({ file: "/bin/echo", args: ["hi"], env: {}, cwd: "/" }, confinement);
    const procs = command.args[2]!;
    expect(dirname(dirname(procs))).toBe(join(places.root, "a"));
    const read = (name: string) => readFile(join(dirname(procs), name), "utf8");
    expect(await read("memory.max")).toBe(String(300 * 1024 * 1024));
    expect(await read("memory.swap.max")).toBe("0");
    expect(Number(await read("pids.max"))).toBeGreaterThan(25);
    expect(Number(await read("cpu.weight"))).toBeLessThan(100);
    expect(command).toMatchObject({ file: "/bin/sh", args: ["-c", expect.any(String), procs, "/bin/echo", "hi"] });
    expect((await readdir(join(places.root, "a"))).filter((name) => name.startsWith("bulkhead-")).length)
      .toBeGreaterThan(0);
  });
});

describe("cgroup", () => {
  test("ends what takes more memory than the group has", async (context) => {
    await needsWall(context, "cgroup");
    const { report } = await runConfined("take-much.mjs", { walls: ["cgroup"], args: ["memory"] });
    expect(report).toEqual({});
  });
});
