import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, it } from "vitest";
import { openWorkspaces } from "../../../core/records/workspace/workspaces.ts";
import { execGit, type Fixture, fixtureAt, sha256, walk } from "../git/git-fixture.ts";
import { errorOf } from "../../sessions/host/test-host.ts";
import { lines, ownState, workspaceFixture } from "./workspace-fixture.ts";

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const names = (artifacts: readonly { path: string }[]): string[] => artifacts.map(({ path }) => path);

describe("diff", () => {
  it("gives a patch that git takes, and the artifacts, of all that was changed, committed or not", async () => {
    const f = workspaceFixture();
    f.write("a.txt", "dirty\n");
    await f.changed((at) => {
      at.write("a.txt", "dirty\nand more\n");
      at.write("image.bin", new Uint8Array([0, 255, 1, 254, 0]));
      at.write("latin.txt", new Uint8Array([0xe9, 0x0a]));
      at.commitAll("by the agent");
      at.remove("dir/two.txt");
      at.write('line\nbreak "x".txt', "x\n");
    });
    const { patch, artifacts } = await f.workspaces.diff("s1");
    expect(artifacts.map(({ change, path }) => `${change} ${path}`)).toEqual([
      "modified a.txt",
      "deleted dir/two.txt",
      "created image.bin",
      "created latin.txt",
      'untracked line\nbreak "x".txt',
    ]);
    expect(artifacts[0]?.sha256).toBe(sha256("dirty\nand more\n"));
    const copy = fixtureAt(f.root, join(f.root, "copy"));
    execGit(f.root, ["clone", "-q", f.work, "copy"]);
    copy.write("a.txt", "dirty\n");
    writeFileSync(join(f.root, "patch"), patch);
    copy.git("apply", "--binary", join(f.root, "patch"));
    expect(walk(copy.work, [".git"])).toEqual(walk((await f.workspaces.list())[0]!.folder, [".git"]));
  });

  it("is empty for a worktree that nobody touched, whatever happens in the source", async () => {
    const f = workspaceFixture();
    await f.changed(() => {});
    f.write("a.txt", "by the person");
    f.commitAll();
    expect(await f.workspaces.diff("s1")).toEqual({ patch: new Uint8Array(), artifacts: [], held: [] });
  });

  it("takes what lies there though the agent broke the worktree's own git", async () => {
    const f = workspaceFixture();
    await f.changed((at) => {
      rmSync(join(at.work, ".git"));
      at.git("init", "-q");
      at.write("a.txt", "changed");
      at.write("b.txt", "b");
      at.commitAll();
      at.git("config", "core.fsmonitor", `sh -c 'touch ${f.root}/mark'`);
    });
    expect(names((await f.workspaces.diff("s1")).artifacts)).toEqual(["a.txt", "b.txt"]);
    expect(names((await f.workspaces.apply("s1")).artifacts)).toEqual(["a.txt", "b.txt"]);
    expect(existsSync(join(f.root, "mark"))).toBe(false);
    expect(f.git("worktree", "list").trim().split("\n")).toHaveLength(1);
  });
});

describe("apply", () => {
  it("brings every kind of change to the source, and touches neither index nor HEAD nor refs", async () => {
    const f = workspaceFixture();
    f.write("a.txt", "dirty\n");
    f.write("dir/one.txt", "staged\n");
    f.git("add", "dir/one.txt");
    const before = ownState(f);
    const { at } = await f.changed((worktree) => {
      worktree.write("a.txt", "dirty\nmore\n");
      worktree.remove("dir/two.txt");
      worktree.write("new/deep/file.bin", new Uint8Array([0, 1, 2]));
      worktree.write('line\nbreak "x".txt', "x");
      symlinkSync("a.txt", join(worktree.work, "link"));
      worktree.write("run.sh", "#!/bin/sh\n");
      worktree.git("update-index", "--add", "--chmod=+x", "run.sh");
      worktree.git("checkout-index", "-f", "run.sh");
    });
    const expected = walk(at.work, [".git"]);
    const { artifacts, kept_commit } = await f.workspaces.apply("s1");
    expect(walk(f.work, [".git"])).toEqual(expected);
    expect(names(artifacts)).toEqual([
      "a.txt",
      "dir/two.txt",
      'line\nbreak "x".txt',
      "link",
      "new/deep/file.bin",
      "run.sh",
    ]);
    expect(kept_commit).toBe(null);
    expect({ ...ownState(f), status: "" }).toEqual({ ...before, status: "" });
    expect(f.git("status", "--porcelain")).toBe(
      'A? M a.txt\nM  dir/one.txt\n D dir/two.txt\n?? "line\\nbreak \\"x\\".txt"\n?? link\n?? new/\n?? run.sh\n'.slice(
        2,
      ),
    );
    expect(existsSync(join(f.state, "s1"))).toBe(false);
  });

  it("merges with what the person changed meanwhile, in the same file too", async () => {
    const f = workspaceFixture();
    await f.changed((at) => at.write("a.txt", lines("a").replace("a 19", "last, by the agent")));
    f.write("a.txt", lines("a").replace("a 0\n", "first, by the person\n"));
    f.write("other.txt", "by the person");
    f.commitAll();
    await f.workspaces.apply("s1");
    const merged = lines("a").replace("a 0\n", "first, by the person\n").replace("a 19", "last, by the agent");
    expect(text(f.read("a.txt"))).toBe(merged);
    expect(f.git("status", "--porcelain")).toBe(" M a.txt\n");
  });

  it("writes nothing where the agent's commits cannot be kept", async () => {
    const f = workspaceFixture();
    await f.changed((at) => {
      at.write("a.txt", "by the agent\n");
      at.commitAll();
      at.git("update-ref", "refs/bulkhead", "HEAD");
    });
    const error = await errorOf(f.workspaces.apply("s1"));
    expect(error).toMatchObject({ code: "io_error", message: expect.stringContaining("refs/bulkhead") as string });
    expect(f.git("status", "--porcelain")).toBe("");
    expect((await f.workspaces.list())[0]?.state).toBe("open");
    f.git("update-ref", "-d", "refs/bulkhead");
    const head = (await f.workspaces.apply("s1")).kept_commit;
    expect(f.git("rev-parse", "refs/bulkhead/s1").trim()).toBe(head);
    expect(f.git("status", "--porcelain")).toBe(" M a.txt\n");
  });

  it("removes a worktree in which the agent made folders deeper than a path may be long", async () => {
    const f = workspaceFixture();
    const opened = await f.changed((at) => {
      const chain = 'for i in $(seq 40); do mkdir "$1" && cd -P "$1" || exit 1; done';
      execFileSync("sh", ["-c", chain, "sh", "d".repeat(200)], { cwd: at.work });
      at.write("a.txt", "by the agent\n");
    });
    expect((await f.workspaces.apply("s1")).artifacts).toMatchObject([{ path: "a.txt" }]);
    expect(existsSync(opened.folder)).toBe(false);
    expect(existsSync(join(f.state, "s1"))).toBe(false);
  });

  it("refuses a conflict with the paths, and leaves the source and the worktree as they were", async () => {
    const f = workspaceFixture();
    const { at } = await f.changed((worktree) => {
      worktree.write("a.txt", "by the agent\n");
      worktree.write("new.txt", "by the agent\n");
      worktree.write("dir/two.txt", "by the agent\n");
      worktree.write("fine.txt", "fine");
    });
    f.write("a.txt", "by the person\n");
    f.write("new.txt", "by the person\n");
    const before = { files: walk(f.work, [".git"]), own: ownState(f) };
    const error = await errorOf(f.workspaces.apply("s1"));
    expect(error).toMatchObject({ code: "conflict", details: { paths: ["a.txt", "new.txt"] } });
    expect({ files: walk(f.work, [".git"]), own: ownState(f) }).toEqual(before);
    expect(text(at.read("a.txt"))).toBe("by the agent\n");
    f.remove("dir/two.txt");
    expect(await errorOf(f.workspaces.apply("s1"))).toMatchObject({ code: "conflict" });
    expect(existsSync(join(f.work, "fine.txt"))).toBe(false);
    f.write("a.txt", lines("a"));
    f.write("dir/two.txt", "two\n");
    f.remove("new.txt");
    expect(names((await f.workspaces.apply("s1")).artifacts)).toEqual(["a.txt", "dir/two.txt", "fine.txt", "new.txt"]);
  });

  it("keeps the commits that were made under a ref, and applies what lies there", async () => {
    const f = workspaceFixture();
    let head = "";
    await f.changed((at) => {
      at.write("a.txt", "one\n");
      at.commitAll("first of the agent");
      at.git("checkout", "-q", "-b", "agent-branch");
      at.write("a.txt", "two\n");
      at.commitAll("second of the agent");
      head = at.git("rev-parse", "HEAD").trim();
      at.write("a.txt", "three\n");
    });
    const branch = f.git("symbolic-ref", "HEAD");
    const commit = f.git("rev-parse", "HEAD");
    expect((await f.workspaces.apply("s1")).kept_commit).toBe(head);
    expect(f.git("rev-parse", "refs/bulkhead/s1").trim()).toBe(head);
    expect(text(f.read("a.txt"))).toBe("three\n");
    expect([f.git("symbolic-ref", "HEAD"), f.git("rev-parse", "HEAD")]).toEqual([branch, commit]);
    expect((await f.workspaces.list())[0]).toMatchObject({ state: "applied", kept_commit: head });
  });

  it("leaves repositories out that were made in the worktree", async () => {
    const f = workspaceFixture();
    await f.changed((at) => {
      const nested = fixtureAt(f.root, join(at.work, "nested"));
      nested.write("x.txt", "x");
      nested.git("init", "-q");
      nested.commitAll();
      at.write("a.txt", "changed");
    });
    await f.workspaces.apply("s1");
    expect(text(f.read("a.txt"))).toBe("changed");
    expect(existsSync(join(f.work, "nested"))).toBe(false);
  });

  it("holds links that lead out of the repository unless they are asked for, and brings the rest", async () => {
    const f = workspaceFixture();
    symlinkSync("/etc", join(f.work, "known"));
    f.write("deep/er/a.txt", "x");
    f.commitAll("a link of the person's own");
    await f.changed((at) => {
      at.write("b.txt", "b\n");
      const links = {
        absolute: "/etc/passwd",
        up: "../outside",
        "deep/up": "../../outside",
        hooks: ".git/hooks",
        "deep/er/top": "../..",
        // Inside by its letters, and outside by way of the link before.
        through: "deep/er/top/../outside",
        "deep/inside": "../a.txt",
        hanging: "dir/none",
      };
      for (const [name, target] of Object.entries(links)) symlinkSync(target, join(at.work, name));
    });
    const out = [
      { path: "absolute", target: "/etc/passwd" },
      { path: "deep/up", target: "../../outside" },
      { path: "hooks", target: ".git/hooks" },
      { path: "through", target: "deep/er/top/../outside" },
      { path: "up", target: "../outside" },
    ];
    const shown = (held: readonly { path: string; target?: string }[]) =>
      held.map(({ path, target }) => ({ path, target }));
    expect(shown((await f.workspaces.diff("s1")).held)).toEqual(out);
    const applied = await f.workspaces.apply("s1");
    expect(shown(applied.held)).toEqual(out);
    expect(names(applied.artifacts).sort()).toEqual(["b.txt", "deep/er/top", "deep/inside", "hanging"]);
    expect(readFileSync(join(f.work, "b.txt"), "utf8")).toBe("b\n");
    expect(existsSync(join(f.work, "hooks"))).toBe(false);
    const { artifacts, held } = await f.workspaces.apply("s1", { allowLinks: true });
    expect(names(artifacts).sort()).toEqual(out.map(({ path }) => path).sort());
    expect(held).toEqual([]);
    expect(await f.workspaces.list()).toMatchObject([{ state: "applied" }]);
  });

  it("does not write through a link that the agent left", async () => {
    const f = workspaceFixture();
    f.write("../outside/victim.txt", "whole");
    await f.changed((at) => {
      at.remove("dir");
      symlinkSync(join(f.root, "outside"), join(at.work, "dir"));
    });
    await f.workspaces.apply("s1", { allowLinks: true });
    expect(readFileSync(join(f.root, "outside/victim.txt"), "utf8")).toBe("whole");
    await f.changed((at) => at.write("new/victim.txt", "changed"), "s2");
    symlinkSync(join(f.root, "outside"), join(f.work, "new"));
    expect((await errorOf(f.workspaces.apply("s2"))).code).toMatch(/conflict|io_error/);
    expect(readFileSync(join(f.root, "outside/victim.txt"), "utf8")).toBe("whole");
  });

  it("works while the user's index is locked, and keeps line ends of core.autocrlf", async () => {
    const f = workspaceFixture();
    f.git("config", "core.autocrlf", "true");
    f.write("a.txt", lines("a").replaceAll("\n", "\r\n"));
    f.write(".git/index.lock", "");
    await f.changed((at) => at.write("a.txt", lines("a").replace("a 3", "changed").replaceAll("\n", "\r\n")));
    await f.workspaces.apply("s1");
    expect(text(f.read("a.txt"))).toBe(lines("a").replace("a 3", "changed").replaceAll("\n", "\r\n"));
  });

  it("refuses a session that runs, one that is unknown, and one that was applied", async () => {
    const f = workspaceFixture();
    const { at } = await f.open();
    at.write("a.txt", "x");
    expect((await errorOf(f.workspaces.apply("s1"))).code).toBe("busy");
    expect((await errorOf(f.workspaces.discard("s1"))).code).toBe("busy");
    expect((await f.workspaces.list())[0]).toMatchObject({ running: true, state: "open", ended_at: null });
    await f.workspaces.end("s1");
    expect((await f.workspaces.list())[0]).toMatchObject({ running: false, state: "open" });
    const both = await Promise.allSettled([f.workspaces.apply("s1"), f.workspaces.apply("s1")]);
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect((await errorOf(f.workspaces.apply("s1"))).code).toBe("already_exists");
    expect((await errorOf(f.workspaces.diff("s1"))).code).toBe("already_exists");
    expect((await errorOf(f.workspaces.apply("none"))).code).toBe("not_found");
    expect((await errorOf(f.workspaces.diff("../s1"))).code).toBe("not_found");
  });

  it("says that the source is gone, and still discards the changes", async () => {
    const f = workspaceFixture();
    await f.changed((at) => at.write("a.txt", "x"));
    rmSync(f.work, { recursive: true });
    expect((await errorOf(f.workspaces.apply("s1"))).code).toBe("workdir_missing");
    await f.workspaces.discard("s1");
    expect(readdirSync(f.state)).toEqual(["s1.json"]);
  });

  it("says how git shows the changes where the source was moved, and works when it is back", async () => {
    const f = workspaceFixture();
    const { folder, at } = await f.changed((at) => at.write("a.txt", "x"));
    const moved = join(f.root, "moved");
    renameSync(f.work, moved);
    for (const act of [f.workspaces.apply, f.workspaces.diff]) {
      const { code, hint } = await errorOf(act("s1"));
      expect([code, hint]).toEqual(["workdir_missing", expect.stringContaining(`git worktree repair ${folder}.`)]);
    }
    execGit(moved, ["worktree", "repair", folder]);
    expect(at.git("diff", "--stat")).toContain("a.txt");
    renameSync(moved, f.work);
    await f.workspaces.apply("s1");
    expect(f.git("status", "--porcelain")).toBe(" M a.txt\n");
  });

  it("says that the worktree was removed, and what is left of it", async () => {
    const f = workspaceFixture();
    const { folder } = await f.changed((at) => at.write("a.txt", "x"));
    rmSync(folder, { recursive: true });
    for (const act of [f.workspaces.apply, f.workspaces.diff]) {
      const { code, message, hint } = await errorOf(act("s1"));
      expect([code, message]).toEqual(["workdir_missing", `The worktree of session "s1" was removed: "${folder}".`]);
      expect(hint).toContain("bulkhead session discard s1");
    }
    await f.workspaces.discard("s1");
  });
});

describe("discard", () => {
  it("removes worktree and registration, and leaves other registrations alone, stale ones too", async () => {
    const f = workspaceFixture();
    f.git("worktree", "add", "-q", "../away", "-b", "away");
    rmSync(join(f.root, "away"), { recursive: true });
    const before = ownState(f);
    await f.changed((at) => at.write("a.txt", "x"));
    await f.workspaces.discard("s1");
    expect(ownState(f)).toEqual(before);
    expect(readdirSync(f.state)).toEqual(["s1.json"]);
    expect((await f.workspaces.list())[0]).toMatchObject({ state: "discarded" });
  });

  it("removes the registration of a worktree whose folder somebody removed", async () => {
    const f = workspaceFixture();
    const before = ownState(f);
    const { folder } = await f.changed(() => {});
    rmSync(folder, { recursive: true });
    await f.workspaces.discard("s1");
    expect(ownState(f)).toEqual(before);
  });
});

describe("reset", () => {
  it("puts files, HEAD and index back to the base, ignored files and an act under way too", async () => {
    const f = workspaceFixture();
    f.write("a.txt", "dirty");
    const { at, folder } = await f.open();
    const files = walk(folder, [".git"]);
    const status = at.git("status", "--porcelain");
    at.write("a.txt", "agent");
    at.write("build.log", "x");
    at.commitAll();
    at.git("checkout", "-q", "-b", "other");
    at.remove("dir");
    f.write("a.txt", "by the person meanwhile");
    await f.workspaces.reset("s1");
    expect(walk(folder, [".git"])).toEqual(files);
    expect(at.git("status", "--porcelain")).toBe(status);
    expect(at.git("rev-parse", "HEAD")).toBe(f.git("rev-parse", "HEAD"));
    expect((await f.workspaces.diff("s1")).artifacts).toEqual([]);
  });
});

describe("prune", () => {
  it("removes by age, also what was never applied, but never what runs", async () => {
    const f = workspaceFixture();
    await f.changed((at) => at.write("a.txt", "x"), "old");
    await f.open("running");
    const future = Date.now() + 10_000;
    expect(await f.workspaces.prune({ olderThanMs: 60_000, now: future })).toEqual({ removed: [], failed: [] });
    expect(await f.workspaces.prune({ olderThanMs: 5000, now: future })).toEqual({ removed: ["old"], failed: [] });
    expect(readdirSync(f.state).sort()).toEqual(["running", "running.json"]);
    expect(f.git("worktree", "list").trim().split("\n")).toHaveLength(2);
  });

  it("removes what a host that was killed had begun, and frees what it held", async () => {
    const f = workspaceFixture();
    const before = ownState(f);
    const { folder } = await f.open("half");
    await f.open("held");
    const deadPid = 2 ** 22 + 1;
    for (const [id, state] of [["half", "opening"], ["held", "open"]] as const) {
      const file = join(f.state, `${id}.json`);
      const record = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
      writeFileSync(file, JSON.stringify({ ...record, state, holder: { pid: deadPid, start: "1" } }));
    }
    // A pid that was given away again is another process.
    expect((await f.workspaces.list()).map(({ running }) => running)).toEqual([false, false]);
    writeFileSync(join(f.state, "held.lock"), JSON.stringify({ pid: process.pid, start: "0" }));
    expect(await f.workspaces.prune({ olderThanMs: 60_000 })).toEqual({ removed: ["half"], failed: [] });
    expect(existsSync(folder)).toBe(false);
    await f.workspaces.discard("held");
    expect(ownState(f)).toEqual(before);
  });

  it("finishes a removal that was cut off, forgets old records, and leaves a damaged file alone", async () => {
    const f = workspaceFixture();
    await f.changed(() => {});
    const file = join(f.state, "s1.json");
    const record = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
    writeFileSync(file, JSON.stringify({ ...record, state: "discarded" }));
    writeFileSync(join(f.state, "damaged.json"), "{");
    await f.workspaces.prune({ olderThanMs: 60_000 });
    expect(readdirSync(f.state).sort()).toEqual(["damaged.json", "s1.json"]);
    expect(await f.workspaces.prune({ olderThanMs: -60_000 })).toEqual({ removed: ["s1"], failed: [] });
  });
});

describe("applyPatch", () => {
  /** A patch of another host's session, and the repository as it was before. */
  async function patchOf(act: (at: Fixture) => void) {
    const f = workspaceFixture();
    await f.changed(act);
    const { patch } = await f.workspaces.diff("s1");
    const elsewhere = openWorkspaces(join(f.root, "state", "elsewhere"));
    const apply = () => elsewhere.applyPatch("s1", { workdir: f.work, patch });
    return { f, elsewhere, apply };
  }

  it("merges changes of another host with the repository's own, and leaves no worktree", async () => {
    const { f, elsewhere, apply } = await patchOf((at) => {
      at.write("a.txt", lines("a").replace("a 3\n", "by the agent\n"));
      at.write("image.bin", new Uint8Array([0, 255, 1, 254, 0]));
      at.remove("dir/two.txt");
    });
    f.write("a.txt", lines("a").replace("a 17\n", "by the person\n"));
    const before = ownState(f);
    expect(names((await apply()).artifacts)).toEqual(["a.txt", "dir/two.txt", "image.bin"]);
    expect(text(f.read("a.txt"))).toBe(
      lines("a").replace("a 3\n", "by the agent\n").replace("a 17\n", "by the person\n"),
    );
    expect(existsSync(join(f.work, "dir/two.txt"))).toBe(false);
    expect({ ...ownState(f), worktrees: "", status: "" }).toEqual({ ...before, worktrees: "", status: "" });
    expect(f.git("worktree", "list", "--porcelain")).not.toContain("elsewhere");
    expect((await elsewhere.list()).map(({ state }) => state)).toEqual(["applied"]);
    expect(await errorOf(apply())).toMatchObject({ code: "already_exists" });
  });

  it("changes nothing where they do not fit, and can be tried again", async () => {
    const { f, elsewhere, apply } = await patchOf((at) => at.write("a.txt", "by the agent\n"));
    f.write("a.txt", "by the person\n");
    expect(await errorOf(apply())).toMatchObject({ code: "conflict", details: { paths: ["a.txt"] } });
    expect(text(f.read("a.txt"))).toBe("by the person\n");
    expect(await elsewhere.list()).toEqual([]);
    f.write("a.txt", lines("a"));
    expect(names((await apply()).artifacts)).toEqual(["a.txt"]);
  });

  it("holds links that lead out until they are allowed, and never writes outside", async () => {
    const { f, elsewhere, apply } = await patchOf((at) => symlinkSync("/etc", join(at.work, "way-out")));
    expect(await apply()).toMatchObject({ artifacts: [], held: [{ path: "way-out", kind: "link_out" }] });
    expect(existsSync(join(f.work, "way-out"))).toBe(false);
    const patch = new TextEncoder().encode(
      "diff --git a/../out.txt b/../out.txt\nnew file mode 100644\n--- /dev/null\n+++ b/../out.txt\n@@ -0,0 +1 @@\n+x\n",
    );
    expect(await errorOf(elsewhere.applyPatch("s2", { workdir: f.work, patch }))).toMatchObject({
      code: expect.stringMatching(/conflict|io_error/),
    });
    expect(existsSync(join(f.work, "..", "out.txt"))).toBe(false);
    expect(names((await elsewhere.apply("s1", { allowLinks: true })).artifacts)).toEqual(["way-out"]);
  });
});
