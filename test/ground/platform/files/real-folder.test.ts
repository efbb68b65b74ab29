import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { realFolder } from "../../../../core/ground/platform/files/real-folder.ts";

let folder: string;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-test-")));
  await mkdir(join(folder, "a"));
  await symlink("a", join(folder, "link"));
  await symlink("none", join(folder, "dangling"));
  await writeFile(join(folder, "file"), "");
});

afterEach(() => rm(folder, { recursive: true, force: true }));

describe("realFolder", () => {
  it("follows links to a folder", async () => {
    const real = join(folder, "a");
    for (const path of ["a", "a/", "link", "link/.", "a/../link"]) {
      expect(await realFolder(`${folder}/${path}`)).toBe(real);
    }
    expect(await realFolder("/")).toBe("/");
  });

  it("is null for a file, a link to nothing, and what is not there", async () => {
    for (const path of ["file", "dangling", "none", "file/a", ""]) {
      const found = await realFolder(path === "" ? `${folder}/none/..` : join(folder, path));
      expect(found).toBeNull();
    }
  });
});
