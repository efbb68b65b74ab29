import { mkdtemp, readdir, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type HeldLock, takeLock } from "../../../core/ground/platform/state/lock-file.ts";
import { Neighbours } from "../../../core/sessions/host/neighbours.ts";

let root = "";
let folder = "";
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-neighbours-")));
  folder = join(root, "active");
});
afterEach(() => rm(root, { recursive: true }));

test("sessions of two hosts in overlapping folders meet, whichever came first, and others do not", async () => {
  const [here, there] = [new Neighbours(folder), new Neighbours(folder)];
  await here.enter("a", "/work/project");
  await there.enter("b", "/work/project/sub");
  await there.enter("c", "/work/other");
  await there.enter("d", "/work/project-2");
  expect([await here.metBy("a"), await there.metBy("b")]).toEqual([["b"], ["a"]]);
  expect([await there.metBy("c"), await there.metBy("d"), await there.metBy("nobody")]).toEqual([[], [], []]);
  await there.leave("b");
  await here.enter("e", "/work");
  // The host itself knows that "a" works there too.
  expect(await here.metBy("e")).toEqual(["c", "d"]);
  expect(await here.metBy("a")).toEqual(["b"]);
});

test("what a killed host left is removed, and what is no note as well", async () => {
  const gone = { workdir: "/work", holder: { pid: 2 ** 22 + 1, start: null } };
  const neighbours = new Neighbours(folder);
  await neighbours.enter("a", "/elsewhere");
  await writeFile(join(folder, "gone.json"), JSON.stringify(gone));
  await writeFile(join(folder, "gone.met"), "a\n");
  await writeFile(join(folder, "odd.json"), "no JSON");
  await neighbours.enter("b", "/work");
  expect(await neighbours.metBy("b")).toEqual([]);
  expect((await readdir(folder)).sort()).toEqual(["a.json", "b.json"]);
  for (const id of ["a", "b"]) await neighbours.leave(id);
  expect(await readdir(folder)).toEqual([]);
});

test("what a host in another container left stays for as long as that host holds its part of the state", async () => {
  const lock = join(root, "lock");
  const far = { pid: 2 ** 22 + 1, start: "1", system: "another boot pid:[1]" };
  const { release } = await takeLock(lock) as HeldLock;
  const neighbours = new Neighbours(folder);
  await neighbours.enter("a", "/elsewhere");
  const note = () =>
    writeFile(join(folder, "far.json"), JSON.stringify({ workdir: "/work", holder: { ...far, lock } }));
  await writeFile(lock, JSON.stringify(far));
  await note();
  await neighbours.enter("b", "/work");
  expect(await neighbours.metBy("b")).toEqual(["far"]);
  // Another host has taken over that part.
  await writeFile(lock, JSON.stringify({ ...far, pid: 5 }));
  await neighbours.enter("c", "/work");
  expect([await neighbours.metBy("c"), await readdir(folder)]).toEqual([[], expect.not.arrayContaining(["far.json"])]);
  await release();
  await writeFile(lock, JSON.stringify(far));
  await note();
  await neighbours.enter("d", "/work");
  expect(await neighbours.metBy("d")).toEqual([]);
});

test("a folder that cannot be made fails no session", async () => {
  await writeFile(folder, "a file");
  const neighbours = new Neighbours(folder);
  await neighbours.enter("a", "/work");
  expect(await neighbours.metBy("a")).toEqual([]);
  await neighbours.leave("a");
});
