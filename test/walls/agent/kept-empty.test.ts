import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isKeptEmpty, keepAtHome, keepEmpty, removeRecorded } from "../../../core/walls/agent/kept-empty.ts";
import { afterEveryTest } from "../../clean-up.ts";

const folders: string[] = [];

afterEveryTest(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function project() {
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-kept-"));
  folders.push(folder);
  const github = join(folder, ".github");
  return { folder, github, record: (name: string) => join(folder, `${name}.json`) };
}

test("keepEmpty makes folders that sessions share, and the last one removes them", async () => {
  const { folder, github, record } = await project();
  const both = await Promise.all([keepEmpty(folder, record("a")), keepEmpty(folder, record("b"))]);
  expect(existsSync(github)).toBe(true);
  await both[0]!.release();
  expect([existsSync(github), isKeptEmpty(github)]).toEqual([true, true]);
  // Each session's record is enough to clean up after the host.
  expect(JSON.parse(await readFile(record("b"), "utf8"))).toContain(github);
  await both[1]!.release();
  expect([existsSync(github), isKeptEmpty(github)]).toEqual([false, false]);
});

test("sessions share a record, which is there as long as one needs it", async () => {
  const { folder, github, record } = await project();
  const [one, two] = await Promise.all([keepEmpty(folder, record("a")), keepEmpty(folder, record("a"))]);
  await one.release();
  expect(JSON.parse(await readFile(record("a"), "utf8"))).toContain(github);
  const three = await keepEmpty(folder, record("a"));
  await Promise.all([two.release(), three.release()]);
  expect([existsSync(record("a")), existsSync(github)]).toEqual([false, false]);
  const four = await keepEmpty(folder, record("a"));
  expect(JSON.parse(await readFile(record("a"), "utf8"))).toContain(github);
  await four.release();
});

test("keepEmpty makes nothing that it cannot record, and tries again for the next session", async () => {
  const { folder, github, record } = await project();
  const one = await keepEmpty(folder, record("a"));
  await writeFile(join(folder, "file"), "");
  const bad = join(folder, "file", "record.json");
  await one.release();
  for (let round = 0; round < 2; round++) {
    await expect(keepEmpty(folder, bad)).rejects.toThrow();
    expect(existsSync(github)).toBe(false);
  }
  await rm(join(folder, "file"));
  const { release } = await keepEmpty(folder, bad);
  expect(existsSync(github)).toBe(true);
  await release();
});

test("a session that begins while the last one ends has its folders", async () => {
  const { folder, github, record } = await project();
  let { release } = await keepEmpty(folder, record("first"));
  for (let round = 0; round < 20; round++) {
    const [next] = await Promise.all([keepEmpty(folder, record("next")), release()]);
    expect(existsSync(github)).toBe(true);
    ({ release } = next);
  }
  await release();
  expect(existsSync(github)).toBe(false);
});

test("keepEmpty leaves alone what was there, and so does the record of it", async () => {
  const { folder, github, record } = await project();
  await mkdir(github);
  await writeFile(join(folder, ".vscode"), "a file");
  const { release } = await keepEmpty(folder, record("a"));
  await removeRecorded(record("a"));
  await release();
  expect([existsSync(github), existsSync(join(folder, ".vscode")), existsSync(join(folder, ".claude"))])
    .toEqual([true, true, false]);
});

test("keepAtHome makes folders with those above, and removes what is still empty with the last session", async () => {
  const { folder, record } = await project();
  const at = (name: string) => join(folder, name);
  await mkdir(at(".codex"));
  const wanted = [at(".codex/sessions"), at(".gemini/tmp/x/chats"), at(".pi/agent/sessions")];
  const [first, second] = await Promise.all([keepAtHome(wanted, record("a")), keepAtHome(wanted, record("a"))]);
  await writeFile(at(".gemini/tmp/x/.project_root"), folder);
  await writeFile(at(".pi/agent/sessions/one"), "said");
  await first();
  expect(wanted.map(existsSync)).toEqual([true, true, true]);
  const third = await keepAtHome(wanted, record("a"));
  await second();
  expect(wanted.map(existsSync)).toEqual([true, true, true]);
  await third();
  expect([".codex/sessions", ".gemini", ".codex", ".pi/agent/sessions/one"].map((name) => existsSync(at(name))))
    .toEqual([false, false, true, true]);
});

test("the record of a killed host is enough to remove what is empty at home", async () => {
  const { folder, record } = await project();
  const text = JSON.stringify([".a", ".a/b", ".c", ".c/d"].map((name) => join(folder, name)));
  for (const name of [".a/b", ".c/d"]) await mkdir(join(folder, name), { recursive: true });
  await writeFile(join(folder, ".c/d/file"), "said");
  await writeFile(record("a"), text);
  await removeRecorded(record("a"));
  expect([".a", ".c/d/file"].map((name) => existsSync(join(folder, name)))).toEqual([false, true]);
});
