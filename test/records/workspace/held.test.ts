import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { startLook } from "../../../core/records/gate/known-entries.ts";
import { workspaceFixture } from "./workspace-fixture.ts";

const pathsOf = (changes: readonly { path: string }[]) => changes.map(({ path }) => path).sort();

/** A worktree in which an agent left sources and what runs programs, at several depths. */
async function withHeld() {
  const f = workspaceFixture();
  f.write("app/.vscode/tasks.json", "old");
  f.write("app/.vscode/settings.json", "old");
  f.write("src/objects/a.ts", "a");
  f.write("src/refs/a.ts", "a");
  f.commitAll("settings");
  const opened = await f.changed((at) => {
    at.write("a.txt", "changed");
    at.write("app/b.txt", "b");
    at.write("app/.vscode/tasks.json", "evil");
    at.write("sub/.github/workflows/x.yml", "evil");
    at.write("sub/.github/workflows/y.yml", "evil");
    at.write("deep/er/.EnvRC", "evil");
    at.write("deep/commondir", "../evil");
    for (const name of ["HEAD", "objects/x", "refs/x", "config"]) at.write(`fixtures/bare/${name}`, "x");
    at.write("src/objects/b.ts", "b");
    symlinkSync("/etc", join(at.work, "app/etc"));
  });
  return { f, ...opened };
}

const held = [
  "app/.vscode/tasks.json",
  "app/etc",
  "deep/commondir",
  "deep/er/.EnvRC",
  "fixtures/bare/HEAD",
  "fixtures/bare/config",
  "fixtures/bare/objects",
  "fixtures/bare/refs",
  "sub/.github",
];

describe("apply", () => {
  it("holds what can run programs, at any depth, and brings the rest", async () => {
    const { f } = await withHeld();
    expect(pathsOf((await f.workspaces.diff("s1")).held)).toEqual(held);
    const applied = await f.workspaces.apply("s1");
    expect(pathsOf(applied.artifacts)).toEqual(["a.txt", "app/b.txt", "src/objects/b.ts"]);
    expect(pathsOf(applied.held)).toEqual(held);
    for (const path of held.filter((one) => !one.startsWith("app/.vscode"))) {
      expect(existsSync(join(f.work, path)), path).toBe(false);
    }
    expect(new TextDecoder().decode(f.read("app/.vscode/tasks.json"))).toBe("old");
    const [waiting] = await f.workspaces.held();
    expect(waiting).toMatchObject({ session_id: "s1", place: "worktree", held: applied.held });
    // The next apply brings nothing twice, and leaves what the person did since.
    f.write("a.txt", "the person's");
    expect(await f.workspaces.apply("s1")).toMatchObject({ artifacts: [], held: applied.held });
    expect(new TextDecoder().decode(f.read("a.txt"))).toBe("the person's");
  });

  it("brings held changes that are named, and those that are named later", async () => {
    const { f } = await withHeld();
    const first = await f.workspaces.apply("s1", { withHeld: ["sub/.github"] });
    expect(pathsOf(first.artifacts)).toEqual([
      "a.txt",
      "app/b.txt",
      "src/objects/b.ts",
      "sub/.github/workflows/x.yml",
      "sub/.github/workflows/y.yml",
    ]);
    const settled = await f.workspaces.settleHeld("s1", { action: "apply", paths: ["app/.vscode/tasks.json"] });
    expect(pathsOf(settled.held)).toEqual(held.filter((path) => !/tasks|github/.test(path)));
    expect(new TextDecoder().decode(f.read("app/.vscode/tasks.json"))).toBe("evil");
    expect(await f.workspaces.settleHeld("s1", { action: "apply" })).toMatchObject({ held: [] });
    expect(existsSync(join(f.work, "deep/commondir"))).toBe(true);
    expect(await f.workspaces.list()).toMatchObject([{ state: "applied", held: [] }]);
    expect(await f.workspaces.held()).toEqual([]);
  });

  it("drops held changes in the worktree, and removes it with the last", async () => {
    const { f, folder } = await withHeld();
    await f.workspaces.apply("s1");
    await f.workspaces.settleHeld("s1", { action: "drop", paths: ["app/.vscode/tasks.json", "sub/.github"] });
    expect(existsSync(join(folder, "sub/.github"))).toBe(false);
    expect(pathsOf((await f.workspaces.diff("s1")).held)).toEqual(held.filter((path) => !/tasks|github/.test(path)));
    expect(await f.workspaces.settleHeld("s1", { action: "drop" })).toMatchObject({ held: [] });
    expect(existsSync(folder)).toBe(false);
    expect(existsSync(join(f.work, "app/etc"))).toBe(false);
    expect(await f.workspaces.list()).toMatchObject([{ state: "applied" }]);
  });

  it("holds a link that a link of the person's own makes lead out", async () => {
    const f = workspaceFixture();
    await f.changed((at) => {
      at.write("b.txt", "b");
      symlinkSync("dir/way/outside", join(at.work, "x"));
    });
    symlinkSync("../..", join(f.work, "dir/way"));
    const applied = await f.workspaces.apply("s1");
    expect(pathsOf(applied.artifacts)).toEqual(["b.txt"]);
    expect(applied.held).toMatchObject([{ path: "x", kind: "link_out", target: "dir/way/outside" }]);
  });

  it("keeps a folder whose place a link took that is held", async () => {
    const f = workspaceFixture();
    await f.changed((at) => {
      at.remove("dir");
      symlinkSync("/etc", join(at.work, "dir"));
    });
    expect((await f.workspaces.apply("s1")).held).toMatchObject([{ path: "dir", kind: "link_out" }]);
    expect(new TextDecoder().decode(f.read("dir/two.txt"))).toBe("two\n");
    writeFileSync(join(f.work, "dir/two.txt"), "mine");
    await f.workspaces.settleHeld("s1", { action: "drop" });
    expect(new TextDecoder().decode(f.read("dir/two.txt"))).toBe("mine");
  });
});

describe("lookAtLeft", () => {
  it("holds the folder of a session whose host was killed, until it has looked at it", async () => {
    const f = workspaceFixture();
    // Change times are in whole seconds on one of the runtimes.
    await pause("Deno" in globalThis ? 1100 : 20);
    await f.workspaces.watchHeld({ session_id: "s9", folder: f.work, start: await startLook(f.work) });
    f.write("sub/.envrc", "evil");
    expect(await f.workspaces.held()).toEqual([]);
    const file = join(f.state, "held", "s9.json");
    const record = JSON.parse(readFileSync(file, "utf8")) as { watch: { holder: object } };
    record.watch.holder = { pid: 2 ** 22 + 1, start: "0" };
    writeFileSync(file, JSON.stringify(record));
    expect(await f.workspaces.held()).toMatchObject([{ session_id: "s9", held: [{ path: ".", kind: "unseen" }] }]);
    await f.workspaces.lookAtLeft([]);
    expect(await f.workspaces.held()).toMatchObject([{
      held: [{ path: "sub/.envrc", kind: "acted_on", change: "new" }],
    }]);
    await f.workspaces.settleHeld("s9", { action: "drop" });
    expect(existsSync(join(f.work, "sub/.envrc"))).toBe(false);
    expect(await f.workspaces.held()).toEqual([]);
  });
});
