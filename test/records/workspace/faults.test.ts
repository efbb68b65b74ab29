import { chmodSync, existsSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, it } from "vitest";
import { openWorkspaces } from "../../../core/records/workspace/workspaces.ts";
import { type Fixture, fixtureAt, walk } from "../git/git-fixture.ts";
import { boundReadOnly, smallDisk } from "../git/small-disk.ts";
import { errorOf } from "../../sessions/host/test-host.ts";
import { cutOff, lines, ownState, type WorkspaceFixture, workspaceFixture } from "./workspace-fixture.ts";
import { skipBecause } from "../../skip-because.ts";

/** Files and everything else that a person has. */
const stateOf = (f: Fixture) => ({ files: walk(f.work, [".git"]), own: ownState(f) });

const big = (seed: number): Uint8Array => Uint8Array.from({ length: 300_000 }, (_, at) => (at * seed) % 251);

describe("a full disk", () => {
  it("in the source: apply puts everything back, and works once there is room", async (context) => {
    const f = workspaceFixture();
    using disk = smallDisk(join(f.root, "disk"), 2048);
    if (disk === null) return skipBecause(context, "this user may not mount a file system");
    const source = fixtureAt(f.root, join(disk.folder, "repo"));
    source.write("a.txt", lines("a"));
    source.write("b.txt", lines("b"));
    source.write("gone.txt", "to be deleted\n");
    source.git("init", "-q");
    source.commitAll();
    source.write("a.txt", `${lines("a")}dirty\n`);
    source.write("filler.bin", new Uint8Array(1_100_000));
    const opened = await f.workspaces.open({ sessionId: "s1", workdir: source.work });
    const at = fixtureAt(f.root, opened.folder);
    at.write("a.txt", `${lines("a")}dirty\nagent\n`);
    at.write("b.txt", big(11));
    at.remove("gone.txt");
    for (const seed of [3, 5, 7]) at.write(`new/${seed}.bin`, big(seed));
    await f.workspaces.end("s1");
    const before = stateOf(source);
    const error = await errorOf(f.workspaces.apply("s1"));
    expect(error).toMatchObject({ code: "io_error", message: expect.stringContaining("Cannot apply") as string });
    expect(stateOf(source)).toEqual(before);
    expect(existsSync(join(source.work, "new"))).toBe(false);
    expect((await f.workspaces.list())[0]?.state).toBe("open");
    source.remove("filler.bin");
    expect((await f.workspaces.apply("s1")).artifacts).toHaveLength(6);
    expect(new Uint8Array(source.read("new/7.bin"))).toEqual(big(7));
  });

  it("in the state: opening fails and leaves nothing, in the repository neither", async (context) => {
    const f = workspaceFixture();
    using disk = smallDisk(join(f.root, "disk"), 512);
    if (disk === null) return skipBecause(context, "this user may not mount a file system");
    for (const seed of [3, 5, 7]) f.write(`${seed}.bin`, big(seed));
    const before = ownState(f);
    const workspaces = openWorkspaces(join(disk.folder, "workspaces"));
    const error = await errorOf(workspaces.open({ sessionId: "s1", workdir: f.work }));
    expect(error).toMatchObject({ code: "io_error", message: expect.stringMatching(/space/i) as string });
    expect(ownState(f)).toEqual(before);
    expect(readdirSync(join(disk.folder, "workspaces"))).toEqual([]);
    expect(existsSync(join(f.work, ".git/worktrees"))).toBe(false);
  });
});

describe("an apply that is refused", () => {
  const refused: [what: string, there: (f: WorkspaceFixture) => void, paths: string[]][] = [
    ["an ignored file", (f) => f.write("made.cfg", "mine\n"), ["made.cfg"]],
    ["an ignored file where a folder is needed", (f) => f.write("deep", "mine\n"), ["deep/er/file"]],
    ["an ignored folder", (f) => f.write("made.cfg/x.log", "mine\n"), ["made.cfg"]],
    ["an ignored file in a folder that becomes a file", (f) => f.write("dir2/x.log", "mine\n"), ["dir2"]],
    ["an ignored link to a folder", (f) => symlinkSync(f.root, join(f.work, "deep")), ["deep/er/file"]],
    ["an untracked file", (f) => (f.git("config", "core.excludesFile", "/dev/null"), f.write("plain", "mine\n")), [
      "plain",
    ]],
  ];
  it.each(refused)("by %s in the way leaves everything as it was, and works without it", async (_, act, paths) => {
    const f = workspaceFixture();
    f.write(".gitignore", "*.log\n*.cfg\n/deep\n");
    f.write("dir2/old", "old\n");
    f.commitAll();
    const opened = await f.changed((at) => {
      at.write(".gitignore", "*.log\n");
      at.write("a.txt", "agent\n");
      at.write("made.cfg", "agent\n");
      at.write("deep/er/file", "agent\n");
      at.write("plain", "agent\n");
      at.remove("dir2");
      at.write("dir2", "agent\n");
    });
    act(f);
    const before = stateOf(f);
    expect(await errorOf(f.workspaces.apply("s1"))).toMatchObject({ code: "conflict", details: { paths } });
    expect(stateOf(f)).toEqual(before);
    expect(existsSync(opened.folder)).toBe(true);
    const [first = ""] = paths[0]!.split("/");
    rmSync(join(f.work, first === "dir2" ? "dir2/x.log" : first), { recursive: true });
    await f.workspaces.apply("s1");
    expect(f.git("status", "--porcelain", "-uall").split("\n").slice(0, 3)).toEqual([
      " M .gitignore",
      " M a.txt",
      " D dir2/old",
    ]);
  });

  it("half way by a folder that may not be written puts everything back", async (context) => {
    const f = workspaceFixture();
    await f.changed((at) => {
      at.write("a.txt", "agent\n");
      at.write("dir/two.txt", "agent\n");
      at.write("new/file", "agent\n");
    });
    using _ = closedToWriting(join(f.work, "dir")) ?? skipBecause(context, "this user may not mount a file system");
    const before = stateOf(f);
    expect(await errorOf(f.workspaces.apply("s1"))).toMatchObject({ code: "io_error" });
    expect(stateOf(f)).toEqual(before);
    expect(existsSync(join(f.work, "new"))).toBe(false);
  });

  it("by nothing where a file is read-only, and no hook runs", async () => {
    const f = workspaceFixture();
    for (const name of ["post-checkout", "post-index-change", "pre-applypatch", "applypatch-msg"]) {
      f.write(`.git/hooks/${name}`, `#!/bin/sh\ntouch ${f.root}/mark\n`);
      chmodSync(join(f.work, ".git/hooks", name), 0o755);
    }
    await f.changed((at) => at.write("a.txt", "agent\n"));
    chmodSync(join(f.work, "a.txt"), 0o444);
    await f.workspaces.apply("s1");
    expect(new TextDecoder().decode(f.read("a.txt"))).toBe("agent\n");
    expect(existsSync(join(f.root, "mark"))).toBe(false);
  });
});

/** Closes a folder to writing, for root too; null where this user cannot. */
function closedToWriting(folder: string): Disposable | null {
  if (process.getuid?.() !== 0) {
    chmodSync(folder, 0o555);
    return { [Symbol.dispose]: () => chmodSync(folder, 0o755) };
  }
  return boundReadOnly(folder);
}

describe("a host that is killed in the middle of an apply", () => {
  /** Half of an apply is in the source, and the record says so. */
  async function halfApplied(): Promise<WorkspaceFixture> {
    const f = workspaceFixture();
    f.write("a.txt", "dirty\n");
    f.write("kept.txt", "kept\n");
    const opened = await f.changed((at) => {
      at.write("a.txt", "by the agent\n");
      at.write("dir/one.txt", "by the agent\n");
      at.remove("dir/two.txt");
      at.write("new.txt", "by the agent\n");
    });
    await cutOff(f, opened.folder);
    // One file was replaced, one had been removed to be written anew, one was made.
    f.write("a.txt", "by the agent\n");
    f.remove("dir/one.txt");
    f.write("new.txt", "by the agent\n");
    return f;
  }

  it("is finished by the next apply", async () => {
    const f = await halfApplied();
    expect(await f.workspaces.prune({ olderThanMs: -60_000 })).toEqual({ removed: [], failed: [] });
    await f.workspaces.apply("s1");
    expect(f.git("status", "--porcelain")).toBe(" M a.txt\n M dir/one.txt\n D dir/two.txt\n?? kept.txt\n?? new.txt\n");
    expect(new TextDecoder().decode(f.read("dir/one.txt"))).toBe("by the agent\n");
  });

  it("is undone by discard", async () => {
    const f = await halfApplied();
    await f.workspaces.discard("s1");
    expect(f.git("status", "--porcelain")).toBe(" M a.txt\n?? kept.txt\n");
    expect(new TextDecoder().decode(f.read("a.txt"))).toBe("dirty\n");
    expect(existsSync(join(f.state, "s1"))).toBe(false);
  });

  it("overwrites nothing that somebody changed since", async () => {
    const f = await halfApplied();
    f.write("new.txt", "by the person\n");
    expect(await errorOf(f.workspaces.apply("s1"))).toMatchObject({
      code: "conflict",
      details: { paths: ["new.txt"] },
    });
    expect(await errorOf(f.workspaces.discard("s1"))).toMatchObject({ code: "conflict" });
    expect(new TextDecoder().decode(f.read("new.txt"))).toBe("by the person\n");
    rmSync(join(f.work, "new.txt"));
    await f.workspaces.apply("s1");
    expect(new TextDecoder().decode(f.read("new.txt"))).toBe("by the agent\n");
  });
});
