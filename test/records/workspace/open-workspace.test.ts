import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, readdirSync, readFileSync, renameSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findGitFolder } from "../../../core/records/git/private/git-folder.ts";
import { execGit, fixtureAt, walk } from "../git/git-fixture.ts";
import { errorOf } from "../../sessions/host/test-host.ts";
import { lines, ownState, workspaceFixture } from "./workspace-fixture.ts";

describe("openWorkspace", () => {
  it("shows what the person sees: HEAD, changes, untracked files, but nothing ignored", async () => {
    const f = workspaceFixture();
    f.write("a.txt", "dirty");
    f.write("dir/one.txt", "staged");
    f.git("add", "dir/one.txt");
    f.remove("dir/two.txt");
    f.write("new/un tracked.txt", "new");
    f.write("program", "#!/bin/sh\n");
    chmodSync(join(f.work, "program"), 0o755);
    symlinkSync("a.txt", join(f.work, "link"));
    f.write("secret.log", "ignored");
    const before = ownState(f);
    const { at, workdir, folder, base_commit } = await f.open();
    expect(workdir).toBe(folder);
    expect(base_commit).toBe(f.git("rev-parse", "HEAD").trim());
    const expected = walk(f.work, [".git", "secret.log"]);
    expect(walk(folder, [".git"])).toEqual(expected);
    expect(at.git("status", "--porcelain")).toBe(
      " M a.txt\n M dir/one.txt\n D dir/two.txt\n?? link\n?? new/\n?? program\n",
    );
    expect(at.git("rev-parse", "HEAD").trim()).toBe(base_commit);
    expect(() => at.git("symbolic-ref", "-q", "HEAD")).toThrow();
    // One registration more, and nothing else.
    const after = ownState(f);
    expect({ ...after, worktrees: "" }).toEqual({ ...before, worktrees: "" });
    expect(after["worktrees"]).toContain(`worktree ${folder}`);
  });

  it("lies below the state folder, not readable for others", async () => {
    const f = workspaceFixture();
    const { folder } = await f.open();
    expect(folder.startsWith(`${f.state}/s1/`)).toBe(true);
    expect(folder.endsWith("/work")).toBe(true);
    expect(statSync(join(f.state, "s1")).mode & 0o777).toBe(0o700);
    expect(statSync(join(f.state, "s1.json")).mode & 0o777).toBe(0o600);
    expect(readdirSync(f.state).sort()).toEqual(["s1", "s1.json"]);
  });

  it("puts the session into the same sub-folder, also where only ignored files lie", async () => {
    const f = workspaceFixture();
    const { workdir, folder } = await f.open("s1", join(f.work, "dir"));
    expect(workdir).toBe(join(folder, "dir"));
    expect(readFileSync(join(workdir, "one.txt"), "utf8")).toBe(lines("one"));
    f.write("out/x.log", "x");
    const other = await f.open("s2", join(f.work, "out"));
    expect(readdirSync(other.workdir)).toEqual([]);
  });

  it("runs no hook and no filter of the repository", async () => {
    const f = workspaceFixture();
    const mark = join(f.root, "mark");
    for (const hook of ["post-checkout", "post-index-change", "reference-transaction", "pre-commit"]) {
      f.write(`.git/hooks/${hook}`, `#!/bin/sh\necho ${hook} >> ${mark}\n`);
      chmodSync(join(f.work, ".git/hooks", hook), 0o755);
    }
    f.git("config", "filter.evil.smudge", `sh -c 'echo smudge >> ${mark}; cat'`);
    f.git("config", "filter.evil.clean", `sh -c 'echo clean >> ${mark}; cat'`);
    f.git("config", "core.fsmonitor", `sh -c 'echo fsmonitor >> ${mark}'`);
    f.write(".gitattributes", "*.txt filter=evil\n");
    f.write("a.txt", "changed");
    await f.changed((at) => at.write("a.txt", "by the agent"));
    await f.workspaces.diff("s1");
    await f.workspaces.apply("s1");
    await f.open("s2");
    await f.workspaces.end("s2");
    await f.workspaces.discard("s2");
    expect(existsSync(mark)).toBe(false);
    expect(new TextDecoder().decode(f.read("a.txt"))).toBe("by the agent");
  });

  it("copies files with a filter as they lie there, not as the filter stores them", async () => {
    const f = workspaceFixture();
    f.git("config", "filter.pointer.clean", "sh -c 'cat >/dev/null; echo pointer'");
    f.git("config", "filter.pointer.smudge", "sh -c 'cat >/dev/null; echo content'");
    f.write(".gitattributes", "*.big filter=pointer\n");
    f.write("x.big", "content\n");
    f.commitAll();
    expect(f.git("show", "HEAD:x.big")).toBe("pointer\n");
    const { folder, at } = await f.open();
    expect(readFileSync(join(folder, "x.big"), "utf8")).toBe("content\n");
    expect(at.git("status", "--porcelain")).toBe("");
    await f.workspaces.end("s1");
    expect((await f.workspaces.diff("s1")).artifacts).toEqual([]);
    at.write("x.big", "changed\n");
    expect((await f.workspaces.apply("s1")).artifacts.map(({ path }) => path)).toEqual(["x.big"]);
    expect(new TextDecoder().decode(f.read("x.big"))).toBe("changed\n");
  });

  it.each([
    ["a merge", "merge", "MERGE_HEAD"],
    ["a rebase", "rebase", "rebase-merge"],
    ["a cherry-pick", "cherry-pick", "CHERRY_PICK_HEAD"],
  ])("carries over the files of %s that is under way, not the act", async (_name, act, sign) => {
    const f = workspaceFixture();
    f.git("checkout", "-q", "-b", "other");
    f.write("a.txt", "other\n");
    f.commitAll();
    f.git("checkout", "-q", "main");
    f.write("a.txt", "main\n");
    f.commitAll();
    expect(() => f.git(act, "other")).toThrow();
    const before = ownState({ ...f, git: (...args) => args[0] === "symbolic-ref" ? "" : f.git(...args) });
    const { at } = await f.open();
    expect(walk(at.work, [".git"])).toEqual(walk(f.work, [".git"]));
    expect(new TextDecoder().decode(at.read("a.txt"))).toContain("<<<<<<<");
    expect(existsSync(join(f.work, ".git", sign))).toBe(true);
    expect(existsSync(join(at.git("rev-parse", "--absolute-git-dir").trim(), sign))).toBe(false);
    at.write("new.txt", "new");
    at.write("a.txt", "solved\n");
    await f.workspaces.end("s1");
    await f.workspaces.apply("s1");
    expect(new TextDecoder().decode(f.read("a.txt"))).toBe("solved\n");
    // The act is still under way: nobody has told git that it is solved.
    const after = ownState({ ...f, git: (...args) => args[0] === "symbolic-ref" ? "" : f.git(...args) });
    expect({ ...after, worktrees: "" }).toEqual({
      ...before,
      worktrees: "",
      status: `${before["status"]}?? new.txt\n`,
    });
  });

  it("works for a sparse checkout, a split index, a linked worktree and SHA-256 ids", async () => {
    const sparse = workspaceFixture();
    sparse.git("sparse-checkout", "set", "--no-cone", "/a.txt", "/new/");
    const one = await sparse.open();
    expect([...walk(one.folder, [".git"]).keys()]).toEqual(["a.txt"]);
    expect(one.at.git("status", "--porcelain")).toBe("");
    one.at.write("new/x.txt", "x");
    await sparse.workspaces.end("s1");
    expect((await sparse.workspaces.apply("s1")).artifacts.map(({ path }) => path)).toEqual(["new/x.txt"]);
    expect(sparse.git("status", "--porcelain")).toBe("?? new/\n");

    const split = workspaceFixture();
    split.git("update-index", "--split-index");
    split.write("a.txt", "changed");
    expect((await split.open()).at.git("status", "--porcelain")).toBe(" M a.txt\n");

    split.git("worktree", "add", "-q", "../linked", "-b", "linked");
    const linked = fixtureAt(split.root, join(split.root, "linked"));
    linked.write("mine.txt", "x");
    const two = await split.open("s2", linked.work);
    expect(two.at.git("status", "--porcelain")).toBe("?? mine.txt\n");
    await split.workspaces.end("s2");
    await split.workspaces.discard("s2");
    expect(execGit(split.work, ["worktree", "list"])).toContain("linked");

    const wide = workspaceFixture({ repository: false });
    wide.git("init", "-q", "--object-format=sha256");
    wide.write("a.txt", "a");
    wide.commitAll();
    wide.write("a.txt", "b");
    const three = await wide.open();
    expect(three.base_tree).toMatch(/^[0-9a-f]{64}$/);
    expect(three.at.git("status", "--porcelain")).toBe(" M a.txt\n");
  });

  it("refuses a folder that is no repository, and one without a commit, with what to do", async () => {
    const plain = workspaceFixture({ repository: false });
    const none = await errorOf(plain.open());
    expect(none).toMatchObject({ code: "invalid_request", hint: expect.stringContaining("inplace") as string });
    plain.git("init", "-q");
    const empty = await errorOf(plain.open());
    expect(empty).toMatchObject({ code: "invalid_request", message: expect.stringContaining("no commit") as string });
    expect(existsSync(plain.state)).toBe(false);
  });

  it("refuses submodules and nested repositories that are there, and takes those that are not", async () => {
    const f = workspaceFixture();
    const other = fixtureAt(f.root, join(f.root, "other"));
    other.write("x.txt", "x");
    other.git("init", "-q");
    other.commitAll();
    f.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other.work, "sub");
    f.commitAll();
    const refused = await errorOf(f.open());
    expect(refused).toMatchObject({ code: "unsupported", details: { nested: ["sub"] } });
    expect(readdirSync(f.state)).toEqual([]);
    expect(refused.hint).toContain("name it as the working directory: sub.");
    const alone = await f.open("alone", join(f.work, "sub"));
    expect([...walk(alone.folder, [".git"]).keys()]).toEqual(["x.txt"]);
    follow(f, refused);
    expect(readdirSync((await f.open()).folder)).toContain("sub");
    execFileSync("cp", ["-r", other.work, join(f.work, "it's nested")]);
    f.git("worktree", "add", "-q", ".claude/worktrees/x", "-b", "x");
    for (const nested of [".claude/worktrees/x", "it's nested"]) {
      const error = await errorOf(f.open("s2"));
      expect((error.details?.["nested"] as string[])[0]).toBe(nested);
      follow(f, error);
    }
    expect(f.git("status", "--porcelain")).toBe("");
    expect(readdirSync((await f.open("s2")).folder).sort()).toEqual([
      ".git",
      ".gitignore",
      ".gitmodules",
      "a.txt",
      "dir",
      "sub",
    ]);
  });

  it("says what mends a linked worktree whose repository was moved", async () => {
    const f = workspaceFixture();
    const linked = fixtureAt(f.root, join(f.root, "linked"));
    f.git("worktree", "add", "-q", linked.work, "-b", "linked");
    const moved = fixtureAt(f.root, join(f.root, "moved"));
    renameSync(f.work, moved.work);
    const refused = await errorOf(f.open("s1", linked.work));
    expect(refused).toMatchObject({
      code: "invalid_request",
      message: expect.stringContaining("is missing") as string,
    });
    const inplace = await errorOf(findGitFolder(linked.work, { closed: [] }));
    expect(inplace).toMatchObject({ code: "unsupported", hint: refused.hint });
    follow(moved, refused);
    await f.open("s1", linked.work);
    const other = join(f.root, "other");
    renameSync(linked.work, other);
    const elsewhere = await errorOf(findGitFolder(other, { closed: [] }));
    follow({ work: other }, elsewhere);
    expect(await findGitFolder(other, { closed: [] })).toMatchObject({ top: other });
  });

  it("refuses a state folder inside the repository, an id twice, and an id that is a path", async () => {
    const f = workspaceFixture();
    const { openWorkspaces } = await import("../../../core/records/workspace/workspaces.ts");
    const inside = openWorkspaces(join(f.work, ".state"));
    expect((await errorOf(inside.open({ sessionId: "s1", workdir: f.work }))).code).toBe("invalid_request");
    await f.open();
    expect((await errorOf(f.open())).code).toBe("already_exists");
    expect((await errorOf(f.open("../x"))).code).toBe("not_found");
  });

  it("leaves nothing behind when it fails in the middle or is aborted", async () => {
    const f = workspaceFixture();
    // The commit's tree cannot be read in full: the files cannot be written.
    const blob = f.git("rev-parse", "HEAD:dir/two.txt").trim();
    f.remove(`.git/objects/${blob.slice(0, 2)}/${blob.slice(2)}`);
    const before = ownState(f);
    expect((await errorOf(f.open())).code).toBe("io_error");
    expect(ownState(f)).toEqual(before);
    expect(readdirSync(f.state)).toEqual([]);
    expect(existsSync(join(f.work, ".git/worktrees"))).toBe(false);
    const stop = new AbortController();
    const opening = f.workspaces.open({ sessionId: "s2", workdir: f.work, signal: stop.signal });
    stop.abort(new Error("stopped"));
    await expect(opening).rejects.toThrow("stopped");
    expect(existsSync(f.state) ? readdirSync(f.state) : []).toEqual([]);
  });
});

/** Runs the command that an error's hint ends with. */
function follow({ work }: { work: string }, { hint = "" }: { hint?: string }): void {
  const command = / run(?: there| in it)?: (.+)$/i.exec(hint)?.[1];
  execFileSync("sh", ["-ec", command ?? "false"], { cwd: work, stdio: "pipe" });
}
