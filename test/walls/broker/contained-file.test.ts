import { mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { inFolder, readContained, writeContained } from "../../../core/walls/broker/contained-file.ts";

let root = "";
const maxBytes = 1000;

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-contained-")));
  await mkdir(join(root, "in"));
  await mkdir(join(root, "out"));
  await writeFile(join(root, "out", "secret"), "s");
});

afterEach(() => rm(root, { recursive: true, force: true }));

describe("inFolder", () => {
  test("stays in the folder that was checked when a link takes its place meanwhile", async () => {
    await inFolder(join(root, "in"), async ({ base }) => {
      await rename(join(root, "in"), join(root, "moved"));
      await symlink("out", join(root, "in"));
      await writeFile(`${base}/file`, "x");
      await expect(readFile(`${base}/secret`)).rejects.toMatchObject({ code: "ENOENT" });
    });
    expect(await readdir(join(root, "moved"))).toEqual(["file"]);
    expect(await readdir(join(root, "out"))).toEqual(["secret"]);
  });

  test("refuses a link, and a folder reached through one", async () => {
    await symlink("out", join(root, "link"));
    await mkdir(join(root, "out", "deep"));
    for (const path of ["link", "link/deep"]) {
      const act = inFolder(join(root, path), () => Promise.resolve("done"));
      await expect(act).rejects.toMatchObject({ name: "BulkheadError" });
    }
  });

  test("says not_found for a missing folder and for a file", async () => {
    for (const path of ["none", "out/secret"]) {
      await expect(inFolder(join(root, path), () => Promise.resolve())).rejects.toMatchObject({ code: "not_found" });
    }
  });
});

describe("readContained and writeContained", () => {
  test("refuse a link at the end, which was none when it was checked", async () => {
    await symlink("../out/secret", join(root, "in", "link"));
    await expect(readContained(join(root, "in", "link"), { maxBytes })).rejects.toMatchObject({ code: "io_error" });
    const write = writeContained(join(root, "in", "link"), "x", { maxBytes });
    await expect(write).rejects.toMatchObject({ code: "io_error" });
    expect(await readFile(join(root, "out", "secret"), "utf8")).toBe("s");
  });

  test("agree on text, and leave no draft behind", async () => {
    const file = join(root, "in", "a");
    for (const text of ["", "ü🙂\n", "x".repeat(maxBytes)]) {
      await writeContained(file, text, { maxBytes });
      expect(await readContained(file, { maxBytes })).toBe(text);
    }
    await expect(writeContained(file, "x".repeat(maxBytes + 1), { maxBytes })).rejects.toMatchObject({
      code: "too_large",
    });
    expect(await readdir(join(root, "in"))).toEqual(["a"]);
  });
});
