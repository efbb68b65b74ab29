import { chmodSync, chownSync, mkdirSync, readdirSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { afterEach, describe, expect, it } from "vitest";
import { listArtifacts } from "../../../core/records/git/artifacts.ts";
import { releaseSnapshot, takeSnapshot } from "../../../core/records/git/snapshot.ts";
import { changesOf, type Fixture, fixtureAt, inShort, makeFixture } from "./git-fixture.ts";
import { smallDisk } from "./small-disk.ts";
import { skipBecause } from "../../skip-because.ts";

let made: Fixture | null = null;
afterEach(() => {
  if (made !== null) rmSync(made.root, { recursive: true, force: true });
  made = null;
});

function repository(): Fixture {
  made = makeFixture({ repository: true });
  made.write("a.txt", "a\n");
  made.write("dir/one.txt", "one\n");
  made.commitAll();
  return made;
}

/** Two branches that change one file, and the act that brings them together and stops. */
function stopped(f: Fixture, ...act: string[]): void {
  f.git("checkout", "-q", "-b", "other");
  f.write("a.txt", "other\n");
  f.commitAll();
  f.git("checkout", "-q", "main");
  f.write("a.txt", "main\n");
  f.commitAll();
  expect(() => f.git(...act)).toThrow();
}

describe("a repository in the middle of an act", () => {
  it.each([["merge", "other"], ["rebase", "other"], ["cherry-pick", "other"]])(
    "%s: only what the session changed is told, also when it ends the act",
    async (...act) => {
      const f = repository();
      stopped(f, ...act);
      expect(inShort(await changesOf(f, () => {}))).toEqual([]);
      const worked = await changesOf(f, () => {
        f.write("new.txt", "x");
        f.write("a.txt", "solved\n");
      });
      expect(inShort(worked)).toEqual(["modified a.txt", "untracked new.txt"]);
      expect(inShort(await changesOf(f, () => f.git(act[0]!, "--abort")))).toEqual(["modified a.txt"]);
    },
  );
});

describe("locks and folders that are gone", () => {
  it("an index.lock that somebody left is no hindrance, and stays", async () => {
    const f = repository();
    f.write(".git/index.lock", "");
    expect(inShort(await changesOf(f, () => f.write("a.txt", "changed")))).toEqual(["modified a.txt"]);
    expect(readdirSync(join(f.work, ".git"))).toContain("index.lock");
  });

  it("a working directory that is removed, moved or replaced while the session runs", async () => {
    const f = repository();
    const gone = await changesOf(f, () => rmSync(f.work, { recursive: true }));
    expect(gone).toMatchObject({ artifacts: null, reason: "workdir_missing" });
    writeFileSync(f.work, "a file now");
    expect(await changesOf(f, () => {})).toMatchObject({ artifacts: null, reason: "workdir_missing" });
    rmSync(f.work);
    f.write("a.txt", "a");
    f.git("init", "-q");
    f.commitAll();
    const moved = await changesOf(f, () => {
      renameSync(f.work, join(f.root, "elsewhere"));
      mkdirSync(f.work);
    });
    // What was there before is gone with its objects.
    expect(moved).toMatchObject({ artifacts: null, reason: expect.stringContaining("git") as string });
  });
});

describe("a full disk", () => {
  it("in the working directory keeps nothing from being told", async (context) => {
    const f = repository();
    using disk = smallDisk(join(f.root, "disk"), 1024);
    if (disk === null) return skipBecause(context, "this user may not mount a file system");
    const full = fixtureAt(f.root, join(disk.folder, "repo"));
    full.write("a.txt", "a\n");
    full.git("init", "-q");
    full.commitAll();
    const list = await changesOf(f, () => {
      full.write("a.txt", "changed\n");
      expect(() => full.write("filler.bin", new Uint8Array(2_000_000))).toThrow(/ENOSPC|No space/i);
      expect(() => full.write("more.txt", "x".repeat(5000))).toThrow(/ENOSPC|No space/i);
    }, { workdir: full.work });
    expect(inShort(list)).toEqual(["modified a.txt", "untracked filler.bin", "untracked more.txt"]);
    expect(list.artifacts?.find(({ path }) => path === "filler.bin")?.bytes).toBeLessThan(2_000_000);
  });

  it("in the host's state is the reason that is given", async (context) => {
    const f = repository();
    using disk = smallDisk(join(f.root, "disk"), 64);
    if (disk === null) return skipBecause(context, "this user may not mount a file system");
    f.write("big.txt", Array.from({ length: 20_000 }, (_, at) => `line ${at}\n`).join(""));
    const snapshot = await takeSnapshot(f.work, { scratchDir: disk.folder });
    expect(snapshot.held).toBe(null);
    expect(snapshot.reason).toMatch(/space/i);
    expect(readdirSync(disk.folder)).toEqual([]);
  });
});

describe("files that cannot or should not be read", () => {
  it("a file of many gigabytes is compared by size and time, not by content", async () => {
    const f = repository();
    f.write("huge.img", "");
    truncateSync(join(f.work, "huge.img"), 40 * 1024 ** 3);
    const began = performance.now();
    expect(inShort(await changesOf(f, () => f.write("a.txt", "x")))).toEqual(["modified a.txt"]);
    const list = await changesOf(f, () => truncateSync(join(f.work, "huge.img"), 41 * 1024 ** 3));
    expect(inShort(list)).toEqual(["modified huge.img"]);
    expect(list.artifacts?.[0]).toMatchObject({ sha256: null, bytes: 41 * 1024 ** 3 });
    // Reading 160 GB, holes or not, takes minutes.
    expect(performance.now() - began).toBeLessThan(80_000);
  }, 120_000);

  it("the same in a folder that is no repository, and for one that comes and goes", async () => {
    made = makeFixture({ repository: false });
    const f = made;
    f.write("huge.img", "");
    truncateSync(join(f.work, "huge.img"), 40 * 1024 ** 3);
    expect(inShort(await changesOf(f, () => f.write("a.txt", "x")))).toEqual(["untracked a.txt"]);
    expect(inShort(await changesOf(f, () => f.remove("huge.img")))).toEqual(["deleted huge.img"]);
    const list = await changesOf(f, () => {
      f.write("new.img", "");
      truncateSync(join(f.work, "new.img"), 40 * 1024 ** 3);
    });
    expect(inShort(list)).toEqual(["untracked new.img"]);
  }, 120_000);

  it("a folder that becomes unreadable: what lies in it is not called deleted", async (context) => {
    const f = repository();
    f.write("other/x.txt", "x");
    if (process.getuid?.() === 0) {
      if (typeof process.seteuid !== "function") skipBecause(context, "everything is readable for root");
      for (const path of readdirSync(f.root, { recursive: true, encoding: "utf8" })) {
        chownSync(join(f.root, path), 65534, 65534);
      }
      chownSync(f.root, 65534, 65534);
      process.seteuid(65534);
    }
    const home = process.env["HOME"];
    process.env["HOME"] = f.root;
    try {
      const snapshot = await takeSnapshot(f.work, { scratchDir: f.scratch });
      chmodSync(join(f.work, "dir"), 0o000);
      chmodSync(join(f.work, "other"), 0o000);
      f.write("a.txt", "changed");
      const list = await listArtifacts(snapshot);
      await releaseSnapshot(snapshot);
      expect(inShort(list)).toEqual(["modified a.txt"]);
    } finally {
      process.env["HOME"] = home;
      if (process.getuid?.() === 0) process.seteuid?.(0);
      chmodSync(join(f.work, "dir"), 0o755);
      chmodSync(join(f.work, "other"), 0o755);
    }
  });
});
