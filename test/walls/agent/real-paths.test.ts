import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { pathsOfMachine, realEntries, RealPaths } from "../../../core/walls/agent/real-paths.ts";

test("RealPaths looks a place up once, and pathsOfMachine again after a second", async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-paths-")));
  try {
    const [one, link] = [join(folder, "one"), join(folder, "link")];
    const [paths, machine] = [new RealPaths(), pathsOfMachine()];
    expect([await paths.of(one), await machine.of(one)]).toEqual([null, null]);
    await mkdir(one);
    await symlink(one, link);
    expect([await paths.of(one), await paths.of(link), await machine.of(one)]).toEqual([null, one, null]);
    expect(await new RealPaths().of(one)).toBe(one);
    expect([await machine.isFolder(one), await machine.isFolder(join(folder, "none"))]).toEqual([true, null]);
    await expect.poll(() => pathsOfMachine().of(one), { timeout: 3000 }).toBe(one);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("realEntries follows links and leaves out what is missing", async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-paths-")));
  try {
    await mkdir(join(folder, "one"));
    await writeFile(join(folder, "file"), "");
    await symlink(join(folder, "one"), join(folder, "link"));
    await symlink(join(folder, "none"), join(folder, "broken"));
    const names = ["link", "file", "one", "broken", "missing"];
    const one = join(folder, "one");
    expect(await realEntries(folder, names)).toEqual([one, join(folder, "file"), one, null, null]);
    expect(await realEntries(join(folder, "missing"), ["one"])).toEqual([null]);
    // Where a name has two spellings, the file system is asked.
    const found = await realpath(join(folder, "ONE")).catch(() => null);
    expect(await realEntries(folder, ["ONE"])).toEqual([found]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
