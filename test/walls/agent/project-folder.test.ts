import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { keepAtHome, removeRecorded } from "../../../core/walls/agent/kept-empty.ts";
import { projectFolder } from "../../../core/walls/agent/project-folder.ts";
import { afterEveryTest } from "../../clean-up.ts";

const homes: string[] = [];

afterEveryTest(async () => {
  for (const home of homes.splice(0)) await rm(home, { recursive: true, force: true });
});

/** A home, in which each session takes the folder of its project and leaves it again. */
async function makeHome() {
  const home = await mkdtemp(join(tmpdir(), "bulkhead-slugs-"));
  homes.push(home);
  const top = join(home, ".gemini/tmp");
  const record = join(home, "record.json");
  const begin = async (workdir: string) => {
    const releases: (() => Promise<void>)[] = [];
    const chats = await projectFolder(top, {
      workdir,
      records: "chats",
      keepAtHome: async (folders) => void releases.push(await keepAtHome(folders, record)),
    });
    return {
      chats,
      owner: () => readFile(join(dirname(chats), ".project_root"), "utf8").catch(() => "nobody"),
      end: async () => {
        for (const release of releases) await release();
      },
    };
  };
  return { home, top, record, begin };
}

test("projects of one name that begin at once have a folder each, with their own marker", async () => {
  const { top, begin } = await makeHome();
  const workdirs = Array.from({ length: 12 }, (_, count) => `/projects/${count}/app`);
  const sessions = await Promise.all(workdirs.map(begin));
  expect(await Promise.all(sessions.map(({ owner }) => owner()))).toEqual(workdirs);
  expect(new Set(sessions.map(({ chats }) => chats)).size).toBe(workdirs.length);
  await Promise.all(sessions.map(({ end }) => end()));
  expect(await readdir(top).catch(() => [])).toEqual([]);
});

test("a session that begins while the last one of its project ends has a marked folder", async () => {
  const { begin } = await makeHome();
  let session = await begin("/projects/app");
  for (let round = 0; round < 50; round++) {
    const [next] = await Promise.all([begin("/projects/app"), session.end()]);
    expect(await next.owner()).toBe("/projects/app");
    session = next;
  }
  await session.end();
});

test("a folder of another project or without a marker is left alone, and its own is found by the marker", async () => {
  const { top, begin } = await makeHome();
  await mkdir(join(top, "app"), { recursive: true });
  await mkdir(join(top, "theirs"));
  await writeFile(join(top, "theirs", ".project_root"), "/projects/app\n");
  const found = await begin("/projects/app");
  const other = await begin("/others/app");
  expect([found.chats, other.chats]).toEqual([join(top, "theirs/chats"), join(top, "app-1/chats")]);
});

test("what another host removes as empty while a session begins in it keeps its marker", async () => {
  const { top, record, begin } = await makeHome();
  const folder = join(top, "app");
  for (let round = 0; round < 50; round++) {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, ".project_root"), "/projects/app");
    const theirs = `${record}.theirs`;
    await writeFile(theirs, JSON.stringify([folder]));
    const [session] = await Promise.all([begin("/projects/app"), removeRecorded(theirs)]);
    expect(await session.owner()).toBe("/projects/app");
    await session.end();
  }
});
