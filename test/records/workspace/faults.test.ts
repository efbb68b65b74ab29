import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { applyWorktree } from "../../../core/records/git/apply-worktree.ts";
import type { Swap } from "../../../core/records/git/restore-files.ts";
import { openWorkspaces } from "../../../core/records/workspace/workspaces.ts";
import { fixtureAt, walk } from "../git/git-fixture.ts";
import { smallDisk } from "../git/small-disk.ts";
import { errorOf } from "../../sessions/host/test-host.ts";
import { lines, ownState, type WorkspaceFixture, workspaceFixture } from "./workspace-fixture.ts";
import { skipBecause } from "../../skip-because.ts";

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
    const before = { files: walk(source.work, [".git"]), own: ownState(source) };
    const error = await errorOf(f.workspaces.apply("s1"));
    expect(error).toMatchObject({ code: "io_error", message: expect.stringContaining("Cannot apply") as string });
    expect({ files: walk(source.work, [".git"]), own: ownState(source) }).toEqual(before);
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

describe("a host that is killed in the middle of an apply", () => {
  /** Half of an apply is in the source, and the record says so. */
  async function halfApplied(): Promise<{ f: WorkspaceFixture; swap: Swap }> {
    const f = workspaceFixture();
    f.write("a.txt", "dirty\n");
    f.write("kept.txt", "kept\n");
    const opened = await f.changed((at) => {
      at.write("a.txt", "by the agent\n");
      at.write("dir/one.txt", "by the agent\n");
      at.remove("dir/two.txt");
      at.write("new.txt", "by the agent\n");
    });
    const file = join(f.state, "s1.json");
    const record = JSON.parse(readFileSync(file, "utf8")) as { store: string; base_commit: string; base_tree: string };
    let swap: Swap | null = null;
    const base = { store: record.store, commit: record.base_commit, tree: record.base_tree };
    const killed = applyWorktree(base, {
      folder: opened.folder,
      sourceTop: f.work,
      signal: new AbortController().signal,
      takes: () => false,
      onWrite: (written) => {
        swap = written;
        return Promise.reject(new Error("killed"));
      },
    });
    await expect(killed).rejects.toThrow("killed");
    writeFileSync(file, JSON.stringify({ ...record, state: "applying", unfinished: swap }));
    // One file was replaced, one had been removed to be written anew, one was made.
    f.write("a.txt", "by the agent\n");
    f.remove("dir/one.txt");
    f.write("new.txt", "by the agent\n");
    return { f, swap: swap! };
  }

  it("is finished by the next apply", async () => {
    const { f } = await halfApplied();
    expect(await f.workspaces.prune({ olderThanMs: -60_000 })).toEqual({ removed: [], failed: [] });
    await f.workspaces.apply("s1");
    expect(f.git("status", "--porcelain")).toBe(" M a.txt\n M dir/one.txt\n D dir/two.txt\n?? kept.txt\n?? new.txt\n");
    expect(new TextDecoder().decode(f.read("dir/one.txt"))).toBe("by the agent\n");
  });

  it("is undone by discard", async () => {
    const { f } = await halfApplied();
    await f.workspaces.discard("s1");
    expect(f.git("status", "--porcelain")).toBe(" M a.txt\n?? kept.txt\n");
    expect(new TextDecoder().decode(f.read("a.txt"))).toBe("dirty\n");
    expect(existsSync(join(f.state, "s1"))).toBe(false);
  });

  it("overwrites nothing that somebody changed since", async () => {
    const { f } = await halfApplied();
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
