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
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { removeTree } from "../../../../core/ground/platform/files/remove-tree.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "bulkhead-tree-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe("removeTree", () => {
  it("removes folders that are deeper than a path may be long", async () => {
    const top = join(root, "top");
    mkdirSync(top);
    const before = process.cwd();
    process.chdir(top);
    for (let depth = 0; depth < 40; depth++) {
      mkdirSync("d".repeat(200));
      process.chdir("d".repeat(200));
      writeFileSync("file", "x");
    }
    process.chdir(before);
    await removeTree(top);
    expect(readdirSync(root)).toEqual([]);
  });

  it("removes folders that are closed to their own user", async () => {
    for (const mode of [0o000, 0o555, 0o300]) {
      const inner = join(root, "top", "cache", "package");
      mkdirSync(inner, { recursive: true });
      writeFileSync(join(inner, "file"), "x");
      chmodSync(inner, mode);
      chmodSync(join(root, "top", "cache"), mode);
      await removeTree(join(root, "top"));
      expect(readdirSync(root)).toEqual([]);
    }
  });

  it("removes small and large trees of files, folders and links", async () => {
    for (const count of [3, 100]) {
      for (const place of ["top", "top/one", "top/one/two"]) {
        mkdirSync(join(root, place));
        mkdirSync(join(root, place, "empty"));
        for (let n = 0; n < count; n++) writeFileSync(join(root, place, `file-${n}`), "x");
        symlinkSync("..", join(root, place, "link"));
      }
      await removeTree(join(root, "top"));
      expect(readdirSync(root)).toEqual([]);
    }
  });

  it("removes a link in the place of the folder, and nothing that it leads to", async () => {
    const outside = join(root, "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "file"), "x");
    symlinkSync(outside, join(root, "top"));
    await removeTree(join(root, "top"));
    expect([readdirSync(root), readdirSync(outside)]).toEqual([["outside"], ["file"]]);
  });

  it("follows no link, and takes a folder that is not there as removed", async () => {
    const outside = join(root, "outside");
    mkdirSync(outside, { mode: 0o555 });
    mkdirSync(join(root, "top", "closed"), { recursive: true });
    symlinkSync(outside, join(root, "top", "closed", "link"));
    chmodSync(join(root, "top", "closed"), 0o000);
    await removeTree(join(root, "top"));
    await removeTree(join(root, "top"));
    expect(existsSync(outside)).toBe(true);
  });
});
