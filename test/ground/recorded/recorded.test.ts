import {
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { acceptChange } from "../../../core/ground/recorded/accept-change.ts";
import { changeAt, demandRecorded } from "../../../core/ground/recorded/demand-recorded.ts";
import { exposeFolders } from "../../../core/ground/recorded/expose-folders.ts";
import { writeRecorded } from "../../../core/ground/recorded/write-recorded.ts";
import { skipBecause } from "../../skip-because.ts";

let root = "";
let project = "";
let file = "";
let sessions = 0;

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-records-")));
  vi.stubEnv("XDG_DATA_HOME", join(root, "data"));
  project = join(root, "project");
  file = join(project, "bulkhead.yaml");
  await mkdir(project);
  await writeFile(file, "bulkhead: 1\n");
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(root, { recursive: true, force: true });
});

const recorded = () => readdir(join(root, "data", "bulkhead", "recorded")).catch(() => []);
const settle = () => new Promise((resolve) => setTimeout(resolve, 2200));

/** Exposes the project as a session would. */
async function begin(options: { folders?: string[]; plugins?: string[] } = {}): Promise<() => Promise<void>> {
  const { folders = [project], plugins = [] } = options;
  return await exposeFolders({
    id: `s${sessions++}`,
    folders,
    actedOn: [
      { path: file, kind: "manifest" },
      ...plugins.map((path) => ({ path, kind: "plugin" as const })),
    ],
  });
}

async function session(act: () => Promise<unknown> = () => Promise.resolve(), options = {}): Promise<void> {
  const end = await begin(options);
  await act();
  await end();
  // A file system's clock may stand still for some milliseconds.
  await new Promise((resolve) => setTimeout(resolve, 20));
}

async function refused(path: string): Promise<string | null> {
  return (await changeAt(path))?.code ?? null;
}

describe("demandRecorded()", () => {
  test("asks nothing and notes nothing about what no session could write", async () => {
    await demandRecorded(file, "manifest");
    expect(await recorded()).toEqual([]);
    const beside = join(root, "beside.yaml");
    await session(() => writeFile(beside, "made\n"));
    await demandRecorded(beside, "manifest");
    expect(await recorded()).toHaveLength(1);
  });

  test("refuses a file whose folder was moved to its place, and believes one that is as old as before", async () => {
    for (const name of ["still", "moved"]) {
      await mkdir(join(project, name));
      await writeFile(join(project, name, "bulkhead.yaml"), "bulkhead: 1\n");
    }
    await settle();
    await session(() => rename(join(project, "moved"), join(project, "here")));
    expect(await refused(join(project, "still", "bulkhead.yaml"))).toBeNull();
    expect(await refused(join(project, "here", "bulkhead.yaml"))).toBe("unaccepted_change");
  });

  test("believes what a person makes between two sessions, also after the second", async () => {
    await session();
    await mkdir(join(project, "mine"));
    const mine = join(project, "mine", "bulkhead.yaml");
    await writeFile(mine, "bulkhead: 1\n");
    expect(await refused(mine)).toBeNull();
    await session();
    expect(await refused(mine)).toBeNull();
    await session(() => writeFile(mine, "bulkhead: 1\n# agent\n"));
    expect(await refused(mine)).toBe("unaccepted_change");
    // What is touched later has not become the person's.
    await writeFile(mine, "bulkhead: 1\n# agent\n");
    await session();
    expect(await refused(mine)).toBe("unaccepted_change");
  });

  test("tells another link from another file: a plugin behind a link that was turned is refused", async () => {
    const [one, two] = [join(root, "one"), join(root, "two")];
    for (const folder of [one, two]) {
      await mkdir(folder);
      await writeFile(join(folder, "plugin.yaml"), folder);
    }
    const link = join(project, "deploy");
    await symlink(one, link);
    await settle();
    await session(async () => {
      await rm(link);
      await symlink(two, link);
    }, { plugins: [link] });
    expect(await refused(link)).toBe("unaccepted_change");
    await acceptChange(link, String((await changeAt(link))?.details?.["digest"]));
    expect(await refused(link)).toBeNull();
    // A link that leads in from elsewhere is another name of the same file.
    await symlink(project, join(root, "way"));
    expect(await refused(join(root, "way", "bulkhead.yaml"))).toBeNull();
  });

  test("refuses a plugin's folder that a session worked in, above it or below it", async () => {
    const plugin = join(project, "plugins", "deploy");
    await mkdir(join(plugin, "src"), { recursive: true });
    await writeFile(join(plugin, "src", "mod.js"), "one");
    for (const folder of [join(project, "plugins"), plugin, join(plugin, "src")]) {
      await session(() => writeFile(join(plugin, "src", "mod.js"), folder), { folders: [folder], plugins: [plugin] });
      const change = await changeAt(plugin);
      expect(change?.details).toMatchObject({ difference: ["~ src/mod.js"] });
      await acceptChange(plugin, String(change?.details?.["digest"]));
      expect(await refused(plugin)).toBeNull();
    }
  });

  test("refuses again what an agent changes after a person has accepted it", async () => {
    const end = await begin();
    await writeFile(file, "bulkhead: 1\n# one\n");
    await acceptChange(file, String((await changeAt(file))?.details?.["digest"]));
    expect(await refused(file)).toBeNull();
    await writeFile(file, "bulkhead: 1\n# two\n");
    await end();
    expect((await changeAt(file))?.details).toMatchObject({ difference: ["- # one", "+ # two"] });
  });

  test("believes nothing by a record that is torn", async () => {
    await session();
    const [folder = ""] = await recorded();
    const records = join(root, "data", "bulkhead", "recorded", folder);
    await session(() => writeFile(file, "bulkhead: 1\n# agent\n"));
    for (const name of (await readdir(records)).filter((name) => name.endsWith(".json"))) {
      await writeFile(join(records, name), "{");
    }
    expect(await refused(file)).toBe("unaccepted_change");
  });

  test("never tells the text of what may hold a key", async () => {
    const secret = join(project, "key.txt");
    await writeFile(secret, "old-key");
    const end = await exposeFolders({ id: "k", folders: [project], actedOn: [{ path: secret, kind: "secrets" }] });
    await writeFile(secret, "new-key");
    await end();
    expect(JSON.stringify(await changeAt(secret))).not.toMatch(/old-key|new-key/);
    const records = await readdir(join(root, "data", "bulkhead", "recorded"), { recursive: true, withFileTypes: true });
    for (const entry of records.filter((entry) => entry.isFile())) {
      expect(await readFile(join(entry.parentPath, entry.name), "utf8")).not.toMatch(/old-key|new-key/);
    }
  });
});

describe("exposeFolders()", () => {
  test("takes nothing over that a session changed which began at the same time", async () => {
    await session();
    for (let round = 0; round < 20; round++) {
      const text = `bulkhead: 1\n# ${round}\n`;
      const [first, second] = [begin().then(async (end) => (await writeFile(file, text), end)), begin()];
      const ends = await Promise.all([first, second]);
      for (const end of ends) await end();
      expect(await refused(file)).toBe("unaccepted_change");
      await acceptChange(file, String((await changeAt(file))?.details?.["digest"]));
    }
  });

  test("reads no plugin's folder again in which nothing has changed", async (context) => {
    const bytesRead = async () => Number(/^rchar: (\d+)/m.exec(await readFile("/proc/self/io", "utf8"))?.[1]);
    if (process.platform !== "linux") skipBecause(context, "only Linux counts what a process reads");
    const plugin = join(project, "plugins", "big");
    await mkdir(plugin, { recursive: true });
    for (let index = 0; index < 200; index++) {
      await writeFile(join(plugin, `${index}.js`), `${index}`.repeat(20_000));
    }
    await settle();
    await session(undefined, { plugins: [plugin] });
    const reading = async () => {
      const before = await bytesRead();
      await session(undefined, { plugins: [plugin] });
      await demandRecorded(plugin, "plugin");
      return await bytesRead() - before;
    };
    // The process reads other things meanwhile: each reading of the folder would be ten megabytes.
    expect(Math.min(await reading(), await reading())).toBeLessThan(200_000);
    // Another folder with the same content is the same plugin.
    await cp(plugin, `${plugin}2`, { recursive: true });
    await rename(plugin, `${plugin}1`);
    await rename(`${plugin}2`, plugin);
    await demandRecorded(plugin, "plugin");
  });
});

describe("writeRecorded()", () => {
  const write = (text: string) => writeRecorded(file, { kind: "manifest", text, mode: 0o644 });

  test("writes where the file stands while a session runs, and replaces it otherwise", async () => {
    const inode = async () => (await stat(file)).ino;
    const first = await inode();
    await write("bulkhead: 1\n# unexposed\n");
    const second = await inode();
    expect(second).not.toBe(first);
    const end = await begin();
    await write("bulkhead: 1\n# a longer text\n");
    await write("short\n");
    expect(await inode()).toBe(second);
    expect(await readFile(file, "utf8")).toBe("short\n");
    await end();
    expect(await refused(file)).toBeNull();
    await write("bulkhead: 1\n");
    expect(await inode()).not.toBe(second);
    expect(await refused(file)).toBeNull();
  });

  test("does not make an older text of the person's believable again", async () => {
    await session();
    await write("bulkhead: 1\n# granted\n");
    await write("bulkhead: 1\n# revoked\n");
    await session(() => writeFile(file, "bulkhead: 1\n# granted\n"));
    expect((await changeAt(file))?.details).toMatchObject({ difference: ["- # revoked", "+ # granted"] });
  });
});
