import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { closedBelow, closedPlaces } from "../../../core/walls/agent/closed-places.ts";
import { afterEveryTest } from "../../clean-up.ts";

const folders: string[] = [];

afterEveryTest(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

test("closedBelow finds files that others may not read, folders that they may not enter, and many as their folder", async () => {
  const top = await mkdtemp(join(tmpdir(), "bulkhead-closed-"));
  folders.push(top);
  const at = (name: string) => join(top, name);
  const modes: Record<string, number> = { "open": 0o644, "shadow": 0o640, "a/b/key": 0o600, "a/b/c/deeper": 0o600 };
  for (const name of Array.from({ length: 20 }, (_, index) => `log/${index}`)) modes[name] = 0o640;
  for (const [name, mode] of Object.entries({ ...modes, "shut/inside": 0o600, "listed/x": 0o600 })) {
    await mkdir(join(at(name), ".."), { recursive: true });
    await writeFile(at(name), "");
    await chmod(at(name), mode);
  }
  // Whatever the mask of this process is.
  for (const name of ["a", "a/b", "a/b/c", "log"]) await chmod(at(name), 0o755);
  await chmod(at("shut"), 0o750);
  await chmod(at("listed"), 0o711);
  await symlink(at("shut"), at("link"));
  expect((await closedBelow(top)).sort()).toEqual(["a/b/key", "listed/x", "log", "shadow", "shut"].map(at).sort());
});

test("closedPlaces names what only root reads, without places of the session and those around them", async () => {
  const isRoot = process.getuid?.() === 0;
  const all = await closedPlaces([]);
  expect(all.includes("/etc/shadow")).toBe(isRoot);
  expect(await closedPlaces(["/etc/shadow"])).toEqual(all.filter((place) => place !== "/etc/shadow"));
  expect(await closedPlaces(all.map((place) => join(place, "project")))).toEqual([]);
});
