import { execFileSync } from "node:child_process";
import { chmodSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sha256, walk } from "../git/git-fixture.ts";
import { errorOf } from "../../sessions/host/test-host.ts";
import { ownState, type WorkspaceFixture, workspaceFixture } from "./workspace-fixture.ts";

const mebibyte = 1024 * 1024;
/** Content that does not get smaller. */
const large = (seed: number): Uint8Array => {
  const bytes = new Uint8Array(8 * mebibyte);
  for (let at = 0, value = seed; at < bytes.length; at += 4096) bytes[at] = value = (value * 1103515245 + 12345) & 0xff;
  return bytes;
};
const [one, two, three] = [large(1), large(2), large(3)];

function withLarge(): WorkspaceFixture {
  const f = workspaceFixture();
  f.write("data/one.bin", one);
  f.write("two.bin", two);
  chmodSync(join(f.work, "two.bin"), 0o700);
  return f;
}

const mebibytes = (folder: string) => Number(execFileSync("du", ["-sm", folder], { encoding: "utf8" }).split("\t")[0]);

describe("large files that are in no commit", () => {
  it("are in the worktree and not stored beside it", async () => {
    const f = withLarge();
    const { folder, at } = await f.open();
    expect(walk(folder, [".git"])).toEqual(walk(f.work, [".git"]));
    expect(at.git("status", "--porcelain")).toBe(f.git("status", "--porcelain"));
    expect(mebibytes(join(f.state, "s1", "base"))).toBeLessThan(3);
    await f.workspaces.end("s1");
    expect((await f.workspaces.diff("s1")).artifacts).toEqual([]);
    // What is the same here and there is not stored by an apply either.
    at.write("a.txt", "agent\n");
    await f.workspaces.apply("s1");
    expect(f.git("status", "--porcelain")).toBe(" M a.txt\n?? data/\n?? two.bin\n");
  });

  it("are shown and applied where the agent changed them", async () => {
    const f = withLarge();
    await f.changed((at) => {
      at.write("data/one.bin", three);
      at.remove("two.bin");
    });
    const { patch, artifacts } = await f.workspaces.diff("s1");
    expect(artifacts.map(({ change, path }) => `${change} ${path}`).sort()).toEqual([
      "deleted two.bin",
      "modified data/one.bin",
    ]);
    expect(new TextDecoder().decode(patch.subarray(0, 200))).toContain("diff --git a/data/one.bin b/data/one.bin");
    await f.workspaces.apply("s1");
    expect(sha256(f.read("data/one.bin"))).toBe(sha256(three));
    expect(f.git("status", "--porcelain")).toBe("?? data/\n");
  });

  it("are a conflict where both changed them", async () => {
    const f = withLarge();
    await f.changed((at) => at.write("two.bin", one));
    f.write("two.bin", three);
    const before = { files: walk(f.work, [".git"]), own: ownState(f) };
    expect(await errorOf(f.workspaces.apply("s1"))).toMatchObject({
      code: "conflict",
      details: { paths: ["two.bin"] },
    });
    expect({ files: walk(f.work, [".git"]), own: ownState(f) }).toEqual(before);
    expect(await errorOf(f.workspaces.diff("s1"))).toMatchObject({
      code: "too_large",
      hint: expect.stringContaining("worktree itself") as string,
    });
  });

  it("are as they were for another attempt, as long as one copy is", async () => {
    const f = withLarge();
    const { folder, at } = await f.open();
    const before = walk(folder, [".git"]);
    const mode = statSync(join(folder, "two.bin")).mode;
    // The worktree has one of them, the source the other.
    at.write("data/one.bin", three);
    f.remove("two.bin");
    at.write("junk", "x");
    await f.workspaces.reset("s1");
    expect(walk(folder, [".git"])).toEqual(before);
    expect(statSync(join(folder, "two.bin")).mode).toBe(mode);
    await f.workspaces.reset("s1");
    expect(walk(folder, [".git"])).toEqual(before);
    at.write("two.bin", three);
    expect(await errorOf(f.workspaces.reset("s1"))).toMatchObject({
      code: "io_error",
      message: expect.stringContaining('"two.bin" was changed') as string,
    });
    expect(sha256(at.read("data/one.bin"))).toBe(sha256(one));
  });
});
