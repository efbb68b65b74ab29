import { chmodSync, lstatSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { skipBecause } from "../../skip-because.ts";
import { walk } from "../git/git-fixture.ts";
import { smallDisk } from "../git/small-disk.ts";
import { errorOf } from "../../sessions/host/test-host.ts";
import { cutOff, lines, ownState, type WorkspaceFixture, workspaceFixture } from "./workspace-fixture.ts";

/** A repository with folders `a` and `b`, of which the checkout has `a` and the top. */
function sparseFixture(...set: string[]): WorkspaceFixture {
  const f = workspaceFixture();
  for (const path of ["a/x", "a/moved", "b/y", "b/run.sh", "b/kept", "b/to-link"]) f.write(path, lines(path));
  f.commitAll();
  f.git("sparse-checkout", "set", ...set);
  return f;
}

/** Files, index with its marks, and everything else that the person has. */
const stateOf = (f: WorkspaceFixture) => ({ files: walk(f.work, [".git"]), own: ownState(f) });

const text = (f: WorkspaceFixture, path: string) => readFileSync(join(f.work, path), "utf8");

describe("an apply to a sparse checkout", () => {
  it.each([
    ["of folders", ["--cone", "a"]],
    ["of patterns", ["--no-cone", "/a/", "/a.txt"]],
    ["with a sparse index", ["--cone", "--sparse-index", "a"]],
  ])("%s writes what it leaves out as well", async (_, set) => {
    const f = sparseFixture(...set);
    await f.changed((at) => {
      at.write("a/x", "agent\n");
      at.remove("a/moved");
      at.write("b/moved", lines("a/moved"));
      at.write("b/y", `${lines("b/y")}agent\n`);
      at.write("b/run.sh", lines("b/run.sh"));
      chmodSync(join(at.work, "b/run.sh"), 0o755);
      symlinkSync("y", join(at.work, "b/to-link"));
      at.write("b/new/file", "new\n");
    });
    const index = f.git("ls-files", "-s");
    const { artifacts } = await f.workspaces.apply("s1");
    expect(artifacts.map(({ path, change }) => `${change} ${path}`)).toEqual([
      "modified a/x",
      "renamed b/moved",
      "untracked b/new/file",
      "modified b/run.sh",
      "modified b/to-link",
      "modified b/y",
    ]);
    expect([text(f, "b/y"), text(f, "b/new/file")]).toEqual([`${lines("b/y")}agent\n`, "new\n"]);
    expect(statSync(join(f.work, "b/run.sh")).mode & 0o100).toBe(0o100);
    expect(lstatSync(join(f.work, "b/to-link")).isSymbolicLink()).toBe(true);
    expect(f.git("status", "--porcelain").split("\n")).toEqual([
      " D a/moved",
      " M a/x",
      " M b/run.sh",
      " T b/to-link",
      " M b/y",
      "?? b/moved",
      "?? b/new/",
      "",
    ]);
    expect(f.git("ls-files", "-s")).toBe(index);
    expect(f.git("ls-files", "-t", "b/kept")).toBe("S b/kept\n");
  });

  it("names what it would remove there, before anything is written", async () => {
    const f = sparseFixture("--cone", "a", "b");
    await f.changed((at) => {
      at.write("a/x", "agent\n");
      at.remove("b/y");
    });
    f.git("sparse-checkout", "set", "a");
    const before = stateOf(f);
    expect(await errorOf(f.workspaces.apply("s1"))).toMatchObject({
      code: "conflict",
      hint: expect.stringContaining("git sparse-checkout add") as string,
      details: { paths: ["b/y"] },
    });
    expect(stateOf(f)).toEqual(before);
    f.git("sparse-checkout", "add", "b");
    await f.workspaces.apply("s1");
    expect(f.git("status", "--porcelain")).toBe(" M a/x\n D b/y\n");
  });

  it("that fails half way leaves neither files nor other marks", async (context) => {
    const f = sparseFixture("--cone", "a");
    f.write("a.txt", "dirty\n");
    await f.changed((at) => {
      at.write("a.txt", "dirty\nagent\n");
      at.write("b/y", "agent\n");
      at.write("b/zz/new", "agent\n");
      at.write("full/last", new Uint8Array(300_000));
      at.remove("a/moved");
    });
    // The last file of the patch comes to a disk without room for it.
    using disk = smallDisk(join(f.work, "full"), 64);
    if (disk === null) return skipBecause(context, "this user may not mount a file system");
    chmodSync(join(f.work, "a/x"), 0o640);
    const before = stateOf(f);
    const { mtimeMs } = statSync(join(f.work, "a/x"));
    expect(await errorOf(f.workspaces.apply("s1"))).toMatchObject({ code: "io_error" });
    expect(stateOf(f)).toEqual(before);
    expect(f.git("ls-files", "-t", "b")).toBe("S b/kept\nS b/run.sh\nS b/to-link\nS b/y\n");
    const after = statSync(join(f.work, "a/x"));
    expect([after.mtimeMs, after.mode & 0o777]).toEqual([mtimeMs, 0o640]);
  });

  it("that was cut off is undone", async () => {
    const f = sparseFixture("--cone", "a");
    const { folder } = await f.changed((at) => {
      at.write("a/x", "agent\n");
      at.write("b/run.sh", "agent\n");
      at.write("b/y", "agent\n");
    });
    const before = stateOf(f);
    before.own["worktrees"] = `${before.own["worktrees"]!.split("\n\n")[0]}\n\n`;
    await cutOff(f, folder);
    f.write("a/x", "agent\n");
    f.write("b/run.sh", "agent\n");
    await f.workspaces.discard("s1");
    expect(stateOf(f)).toEqual(before);
  });
});
