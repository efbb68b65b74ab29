import { appendFileSync, chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { KnownRepositories } from "../../../core/records/git/known-repositories.ts";
import { releaseSnapshot, takeSnapshot } from "../../../core/records/git/snapshot.ts";
import { changesOf, type Fixture, inShort, makeFixture } from "./git-fixture.ts";

const { PATH = "" } = process.env;
let f: Fixture;
let known: KnownRepositories;

beforeEach(() => {
  f = makeFixture({ repository: true });
  f.write("a.txt", "a\n");
  f.write("sub/b.txt", "b\n");
  f.commitAll();
  known = new KnownRepositories();
  logGit();
});

afterEach(() => {
  vi.useRealTimers();
  process.env["PATH"] = PATH;
  rmSync(f.root, { recursive: true });
});

/** Puts a git in front of the machine's own that notes its command. */
function logGit(): void {
  const folder = join(f.root, "bin");
  mkdirSync(folder);
  const real = PATH.split(delimiter).map((place) => join(place, "git")).find((path) => existsSync(path));
  writeFileSync(join(folder, "git"), `#!/bin/sh\necho "$1" >> "${folder}/log"\nexec "${real}" "$@"\n`);
  chmodSync(join(folder, "git"), 0o755);
  process.env["PATH"] = `${folder}${delimiter}${PATH}`;
}

/** Lets time pass for the host: what was changed until now counts as old. */
function later(ms = 10_000): void {
  const now = Date.now();
  vi.useRealTimers();
  vi.useFakeTimers({ toFake: ["Date"], now: now + ms });
}

/** Commands of git while something runs, sorted. */
async function asked(act: () => Promise<unknown>): Promise<string[]> {
  const log = join(f.root, "bin/log");
  writeFileSync(log, "");
  await act();
  return readFileSync(log, "utf8").split("\n").filter(Boolean).sort();
}

/** Takes a snapshot that is not needed. */
async function look(workdir: string = f.work): Promise<void> {
  await releaseSnapshot(await takeSnapshot(workdir, { scratchDir: f.scratch, known }));
}

const questions = ["config", "rev-parse"];
const all = [...questions, "ls-files", "update-index", "write-tree"].sort();

describe("KnownRepositories", () => {
  test("asks git once what a repository is and what its index holds", async () => {
    later();
    expect(await asked(() => look())).toEqual(all);
    // Whether files are assumed unchanged, and what differs.
    expect(await asked(() => look())).toEqual(["ls-files", "ls-files"]);
    expect(await asked(() => look())).toEqual(["ls-files"]);
    later(60_000);
    expect(await asked(() => look())).toEqual([...questions, "ls-files"].sort());
  });

  test("finds changes of files that are assumed unchanged, however often it has looked", async () => {
    f.git("update-index", "--assume-unchanged", "sub/b.txt");
    later();
    for (let round = 0; round < 3; round++) {
      const list = await changesOf(f, () => f.write("sub/b.txt", `${round}\n`), { known });
      expect(inShort(list)).toEqual(["modified sub/b.txt"]);
      expect(await asked(() => look())).toContain("update-index");
    }
  });

  test("keeps nothing that has just changed: it may change again and not show it", async () => {
    expect(await asked(() => look())).toEqual(all);
    expect(await asked(() => look())).toEqual(all);
  });

  const changes: Record<string, () => void> = {
    "a setting of the repository": () => appendFileSync(join(f.work, ".git/config"), "[core]\n\tautocrlf = true\n"),
    "a setting of the worktree": () => writeFileSync(join(f.work, ".git/config.worktree"), ""),
    "a commit": () => f.git("commit", "-q", "--allow-empty", "-m", "next"),
    "another repository in its place": () => {
      rmSync(join(f.work, ".git"), { recursive: true });
      f.git("init", "-q", "-b", "other");
    },
  };
  for (const [name, change] of Object.entries(changes)) {
    test(`asks again after ${name}`, async () => {
      later();
      await look();
      change();
      later();
      expect(await asked(() => look())).toEqual(expect.arrayContaining(questions));
      expect(await asked(() => look())).not.toContain("config");
    });
  }

  test("keeps no repository whose settings come from many files", async () => {
    for (let n = 0; n < 40; n++) {
      f.write(`settings/${n}`, "[other]\n\tkey = 1\n");
      f.git("config", "--add", "include.path", join(f.work, "settings", String(n)));
    }
    later();
    await look();
    expect(await asked(() => look())).toEqual(expect.arrayContaining(questions));
  });

  test("keeps only the tops of repositories: below, another one may appear", async () => {
    later();
    await look(join(f.work, "sub"));
    expect(await asked(() => look(join(f.work, "sub")))).toEqual(expect.arrayContaining(questions));
  });

  test("finds the commit of HEAD as git does, also when its name is packed", async () => {
    later();
    await look();
    f.git("pack-refs", "--all");
    later();
    const snapshot = await takeSnapshot(f.work, { scratchDir: f.scratch, known });
    const again = await takeSnapshot(f.work, { scratchDir: f.scratch, known });
    const head = f.git("rev-parse", "HEAD").trim();
    expect([snapshot.head, again.head]).toEqual([head, head]);
    await Promise.all([snapshot, again].map(releaseSnapshot));
  });

  test("tells the same changes with what it knows as without", async () => {
    f.write("staged.txt", "only in the index\n");
    f.git("add", "staged.txt");
    later();
    const session = () =>
      changesOf(f, () => {
        f.write("a.txt", `${Math.random()}\n`);
        f.write("new.txt", "new\n");
        f.remove("sub/b.txt");
      }, { known });
    const expected = ["untracked new.txt", "modified a.txt", "deleted sub/b.txt"].sort();
    expect(inShort(await session()).sort()).toEqual(expected);
    for (let round = 0; round < 2; round++) {
      f.git("checkout", "-q", "a.txt", "sub/b.txt");
      f.remove("new.txt");
      f.git("update-index", "--refresh");
      later();
      expect(inShort(await session()).sort()).toEqual(expected);
    }
  });

  test("has git write a tree that it only knew, where it is compared with another one", async () => {
    f.write("staged.txt", "only in the index\n");
    f.git("add", "staged.txt");
    later();
    await look();
    // The first snapshot wrote the tree of this index into a store that is gone.
    const list = await changesOf(f, () => f.write("a.txt", "changed\n"), { known });
    expect(inShort(list)).toEqual(["modified a.txt"]);
  });
});
