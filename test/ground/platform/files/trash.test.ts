import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, expect, test } from "vitest";
import { removeTree } from "../../../../core/ground/platform/files/remove-tree.ts";
import { Trash } from "../../../../core/ground/platform/files/trash.ts";
import { smallDisk } from "../../../records/git/small-disk.ts";
import { skipBecause } from "../../../skip-because.ts";

let root: string;
let failures: unknown[];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "bulkhead-trash-"));
  failures = [];
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const open = () => new Trash(join(root, "trash"), { onFailure: (error) => failures.push(error) });

/** Makes a tree by a program, which is quicker than this one. */
function grow(folder: string, { folders, files }: { folders: number; files: number }): void {
  const script = `for d in $(seq ${folders}); do mkdir -p "$1/$d"; (cd "$1/$d" && seq ${files} | xargs touch); done`;
  execFileSync("sh", ["-c", script, "sh", folder]);
}

test("Trash.take frees the name of a large folder at once, and another process removes it", async () => {
  const trash = open();
  const folder = join(root, "session");
  const spent = { here: Infinity, there: Infinity };
  // The least of some: other work of this process falls into one or the other.
  for (let turn = 0; turn < 6 && !(spent.there < spent.here / 2); turn++) {
    grow(folder, { folders: 2, files: 300 });
    // One folder of many files too, whose list alone would be long.
    grow(join(folder, "wide"), { folders: 1, files: 3500 });
    const before = process.cpuUsage();
    await trash.take(folder);
    expect(existsSync(folder)).toBe(false);
    expect(readdirSync(join(root, "trash"))).toHaveLength(1);
    await trash.settled();
    spent.there = Math.min(spent.there, cpuSince(before));
    grow(folder, { folders: 2, files: 300 });
    grow(join(folder, "wide"), { folders: 1, files: 3500 });
    const beforeHere = process.cpuUsage();
    await rm(folder, { recursive: true });
    spent.here = Math.min(spent.here, cpuSince(beforeHere));
  }
  expect(spent.there).toBeLessThan(spent.here / 2);
  expect([readdirSync(join(root, "trash")), failures]).toEqual([[], []]);
}, 120_000);

function cpuSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

test("Trash.take takes a folder that is closed to its own user", async () => {
  const trash = open();
  const folder = join(root, "session");
  grow(folder, { folders: 2, files: 100 });
  chmodSync(join(folder, "1"), 0);
  chmodSync(folder, 0);
  await trash.take(folder);
  expect(existsSync(folder)).toBe(false);
  await trash.settled();
  expect([readdirSync(join(root, "trash")), failures]).toEqual([[], []]);
});

test("Trash.empty removes what an earlier host left, and settled waits for it", async () => {
  grow(join(root, "trash", "left"), { folders: 2, files: 100 });
  const trash = open();
  await trash.empty();
  await trash.settled();
  expect(readdirSync(join(root, "trash"))).toEqual([]);
});

test("removeTree does not go through a folder that becomes a link meanwhile", async () => {
  const outside = join(root, "outside");
  grow(outside, { folders: 1, files: 3 });
  for (let round = 0; round < 20; round++) {
    const [top, inner] = [join(root, "top"), join(root, "top", "inner")];
    mkdirSync(inner, { recursive: true });
    for (let n = 0; n < round; n++) writeFileSync(join(inner, String(n)), "");
    const removing = removeTree(top).catch(() => {});
    for (let turn = 0; turn < round; turn++) await Promise.resolve();
    try {
      rmSync(inner, { recursive: true, force: true });
      symlinkSync(join(outside, "1"), inner);
    } catch {
      // It is gone already.
    }
    await removing;
    rmSync(top, { recursive: true, force: true });
  }
  expect(readdirSync(join(outside, "1"))).toHaveLength(3);
});

test("removeTree leaves a folder alone in which something is mounted, and says where", async (context) => {
  const top = join(root, "a top\nwith line");
  using disk = smallDisk(join(top, "in ner"), 64);
  if (disk === null) return skipBecause(context, "this user may not mount a file system");
  writeFileSync(join(disk.folder, "file"), "");
  await expect(removeTree(top)).rejects.toMatchObject({ code: "io_error", message: expect.stringMatching("in ner") });
  expect(existsSync(join(disk.folder, "file"))).toBe(true);
});
