import { chmodSync, existsSync, mkdirSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, it } from "vitest";
import { openCheckpoints } from "../../../core/records/checkpoints/checkpoint-store.ts";
import { removeCheckpoints } from "../../../core/records/checkpoints/store-place.ts";
import type { Fixture } from "../git/git-fixture.ts";
import { readFiles } from "./rewind-history.ts";
import { skipBecause } from "../../skip-because.ts";
import { folderWithStores } from "./store-fixture.ts";

describe("CheckpointStore", () => {
  it("takes a turn back, and undoes that", async () => {
    const { f, open } = folderWithStores();
    f.write("a.txt", "one\n");
    f.commitAll();
    f.write("b.txt", "untracked\n");
    const store = await open();
    const before = await store.beginTurn(1);
    f.write("a.txt", "two\n");
    f.write("d/new.txt", "new\n");
    f.remove("b.txt");
    const end = await store.endTurn("all");
    expect(end.checkpoint).not.toBe(before);
    expect(end.artifacts?.map(({ path, change }) => `${change} ${path}`)).toEqual([
      "modified a.txt",
      "deleted b.txt",
      "untracked d/new.txt",
    ]);
    const plan = await store.plan({ to: 0 });
    expect(plan.files).toEqual([
      { path: "a.txt", change: "restored" },
      { path: "b.txt", change: "brought_back" },
      { path: "d/new.txt", change: "removed" },
    ]);
    await store.rewind(plan);
    expect(text(f, "a.txt")).toBe("one\n");
    expect(text(f, "b.txt")).toBe("untracked\n");
    expect(existsSync(join(f.work, "d"))).toBe(false);
    await store.rewind(await store.plan({ undo: true }));
    expect(text(f, "a.txt")).toBe("two\n");
    expect(text(f, "d/new.txt")).toBe("new\n");
    expect(existsSync(join(f.work, "b.txt"))).toBe(false);
  });

  it("keeps the rights of files that it writes again", async () => {
    const { f, open } = folderWithStores();
    f.write("secret", "one\n");
    f.write("run", "one\n");
    f.write("plain", "one\n");
    const modes = () => ["secret", "run", "plain"].map((name) => statSync(join(f.work, name)).mode & 0o777);
    chmodSync(join(f.work, "secret"), 0o600);
    chmodSync(join(f.work, "run"), 0o750);
    f.commitAll();
    const before = modes();
    const store = await open();
    await store.beginTurn(1);
    for (const name of ["secret", "run", "plain"]) f.write(name, "two\n");
    chmodSync(join(f.work, "run"), 0o640);
    await store.endTurn("all");
    await store.rewind(await store.plan({ to: 0 }));
    expect(modes()).toEqual(before);
    await store.rewind(await store.plan({ undo: true }));
    expect(modes()).toEqual([0o600, 0o640, before[2]]);
  });

  it("leaves a file that could not be read before the turn", async (context) => {
    if (process.getuid?.() === 0) skipBecause(context, "the superuser reads every file");
    const { f, open } = folderWithStores();
    f.commitAll();
    f.write("d/closed", "a person's\n");
    chmodSync(join(f.work, "d/closed"), 0);
    const store = await open({ workdir: join(f.work, "d") });
    await store.beginTurn(1);
    chmodSync(join(f.work, "d/closed"), 0o644);
    f.write("d/closed", "changed\n");
    f.write("d/new", "new\n");
    await store.endTurn("all");
    const plan = await store.plan({ to: 0 });
    expect([plan.files, plan.left]).toEqual([[{ path: "new", change: "removed" }], ["closed"]]);
    await store.rewind(plan);
    expect(text(f, "d/closed")).toBe("changed\n");
  });

  it.each(["core.fileMode", "core.symlinks"])("brings modes and links back where %s is off", async (setting) => {
    const { f, open } = folderWithStores();
    f.git("config", setting, "false");
    f.write("run.sh", "one\n");
    chmodSync(join(f.work, "run.sh"), 0o755);
    symlinkSync("run.sh", join(f.work, "link"));
    f.commitAll();
    const all = readFiles(f.work);
    const store = await open();
    await store.beginTurn(1);
    f.write("run.sh", "two\n");
    f.remove("link");
    f.write("new.sh", "new\n");
    chmodSync(join(f.work, "new.sh"), 0o755);
    symlinkSync("new.sh", join(f.work, "other"));
    await store.endTurn("all");
    const changed = readFiles(f.work);
    await store.rewind(await store.plan({ to: 0 }));
    expect(readFiles(f.work)).toEqual(all);
    await store.rewind(await store.plan({ undo: true }));
    expect(readFiles(f.work)).toEqual(changed);
  });

  it.each([true, false])("leaves out a repository of another hash within, repository: %s", async (repository) => {
    const { f, open } = folderWithStores({ repository });
    f.write("a.txt", "one\n");
    f.write("n/n.txt", "n\n");
    f.git("init", "-q", "--object-format=sha256", "n");
    f.git("-C", "n", "add", "n.txt");
    f.git("-C", "n", "commit", "-q", "-m", "n");
    const store = await open();
    await store.beginTurn(1);
    f.write("a.txt", "two\n");
    f.write("n/n.txt", "changed\n");
    expect((await store.endTurn("all")).artifacts?.map(({ path }) => path)).toEqual(["a.txt"]);
    await store.rewind(await store.plan({ to: 0 }));
    expect([text(f, "a.txt"), text(f, "n/n.txt")]).toEqual(["one\n", "changed\n"]);
  });

  it("keeps what a person's clean-up takes from the repository", async () => {
    const { f, open } = folderWithStores();
    f.write("a.txt", "one\n");
    f.commitAll();
    f.write("a.txt", "committed, and lost\n");
    f.commitAll();
    const store = await open();
    await store.beginTurn(1);
    f.write("a.txt", "three\n");
    await store.endTurn("all");
    f.git("reset", "-q", "--soft", "HEAD~1");
    f.git("add", "-A");
    f.git("reflog", "expire", "--expire=now", "--all");
    f.git("gc", "-q", "--prune=now");
    const head = f.git("rev-parse", "HEAD");
    const plan = await store.plan({ to: 0 });
    expect(plan.objects_gone).toEqual([]);
    expect(plan.head_moved).toBe(true);
    await store.rewind(plan);
    expect(text(f, "a.txt")).toBe("committed, and lost\n");
    expect(f.git("rev-parse", "HEAD")).toBe(head);
    expect(f.git("show", ":a.txt")).toBe("three\n");
  });

  it("has no checkpoint of more than its bounds, and says so before it writes", async () => {
    const { f, open } = folderWithStores();
    f.write("a.txt", "one\n");
    f.commitAll();
    const store = await open({ limits: { turn_bytes: 1000 } });
    await store.beginTurn(1);
    f.write("a.txt", "two\n");
    f.write("big.bin", new Uint8Array(1001));
    const end = await store.endTurn("all");
    expect([end.checkpoint, end.checkpoint_reason]).toEqual([null, "too_large"]);
    expect(end.artifacts?.map(({ path }) => path)).toEqual(["a.txt", "big.bin"]);
    const plan = await store.plan({ to: 0 });
    expect(plan.objects_gone).toEqual(["big.bin"]);
    await expect(store.rewind(plan)).rejects.toMatchObject({ code: "not_found", details: { paths: ["big.bin"] } });
    expect(text(f, "a.txt")).toBe("two\n");
    // The next turn is none the worse for it.
    await store.beginTurn(2);
    f.write("a.txt", "three\n");
    expect((await store.endTurn("all")).checkpoint).not.toBeNull();
    await store.rewind(await store.plan({ to: 1 }));
    expect(text(f, "a.txt")).toBe("two\n");
  });

  it("never has secrets, ignored files or repositories within", async () => {
    const { f, open } = folderWithStores();
    f.write(".gitignore", "*.log\n");
    f.write("secret.env", "tracked secret\n");
    f.write("x.log", "ignored\n");
    f.commitAll();
    f.write("other.env", "untracked secret\n");
    const [secret, other] = [join(f.work, "secret.env"), join(f.work, "other.env")];
    const store = await open({ exclude: [secret, other, f.scratch] });
    await store.beginTurn(1);
    f.write("secret.env", "changed\n");
    f.write("other.env", "changed\n");
    f.write("x.log", "changed\n");
    mkdirSync(join(f.work, "nested"));
    f.git("init", "-q", "nested");
    f.write("nested/a.txt", "of another repository\n");
    f.git("-C", "nested", "add", "-A");
    f.git("-C", "nested", "commit", "-q", "-m", "x");
    const end = await store.endTurn("all");
    expect(end.artifacts?.map(({ path, kind }) => `${kind} ${path}`)).toEqual(["submodule nested"]);
    const plan = await store.plan({ to: 0 });
    expect([plan.files, plan.left]).toEqual([[], ["nested"]]);
    await store.rewind(plan);
    expect(text(f, "nested/a.txt")).toBe("of another repository\n");
    expect(text(f, "secret.env")).toBe("changed\n");
    await store.close();
    for (const content of ["untracked secret\n", "changed\n", "of another repository\n"]) {
      f.write("asked.log", content);
      const id = f.git("hash-object", "asked.log").trim();
      expect(() => f.git("--git-dir", join(f.root, "checkpoints/c1"), "cat-file", "blob", id)).toThrow();
    }
  });

  it("leaves a person's edits alone: before, in and after a turn", async () => {
    const { f, open } = folderWithStores();
    for (const path of ["a.txt", "b.txt", "c.txt"]) f.write(path, "one\n");
    f.commitAll();
    const store = await open();
    await store.beginTurn(1);
    f.write("b.txt", "person's, while the agent thinks\n");
    await pause(60);
    const from = Date.now();
    f.write("a.txt", "agent's\n");
    f.write("d/new.txt", "agent's\n");
    const to = Date.now();
    await pause(60);
    f.write("person.txt", "person's\n");
    await store.endTurn({ named: [], calls: [{ from, to }] });
    f.write("c.txt", "person's, since\n");
    const plan = await store.plan({ to: 0 });
    expect(plan.files.map(({ path }) => path)).toEqual(["a.txt", "d/new.txt"]);
    expect(plan.unclaimed).toEqual(["b.txt", "person.txt"]);
    expect((await store.plan({ to: 0, unclaimed: true })).files).toHaveLength(4);
    await store.rewind(plan);
    expect([text(f, "a.txt"), text(f, "b.txt"), text(f, "c.txt")]).toEqual([
      "one\n",
      "person's, while the agent thinks\n",
      "person's, since\n",
    ]);
  });

  it("refuses what others have changed too, and leaves that alone where it is told to", async () => {
    const { f, open } = folderWithStores();
    for (const path of ["a.txt", "b.txt", "d/c.txt"]) f.write(path, "one\n");
    f.commitAll();
    const store = await open();
    await store.beginTurn(1);
    for (const path of ["a.txt", "b.txt", "d/c.txt"]) f.write(path, "two\n");
    await store.endTurn("all");
    f.write("a.txt", "person's\n");
    f.remove("d");
    f.write("d", "person's\n");
    const plan = await store.plan({ to: 0 });
    expect(plan.conflicts).toEqual(["a.txt", "d/c.txt"]);
    await expect(store.rewind(plan)).rejects.toMatchObject({ code: "conflict", details: { paths: plan.conflicts } });
    expect(text(f, "b.txt")).toBe("two\n");
    await store.rewind(await store.plan({ to: 0, keepTheirs: true }));
    expect([text(f, "a.txt"), text(f, "b.txt"), text(f, "d")]).toEqual(["person's\n", "one\n", "person's\n"]);
    const others = await store.plan({ undo: true, others: ["b.txt"] });
    expect(others.conflicts).toEqual(["b.txt"]);
  });

  it("refuses a plan that is older than a change, and any during a turn", async () => {
    const { f, open } = folderWithStores();
    f.write("a.txt", "one\n");
    f.commitAll();
    const store = await open();
    await store.beginTurn(1);
    f.write("a.txt", "two\n");
    await expect(store.plan({ to: 0 })).rejects.toMatchObject({ code: "busy" });
    await store.endTurn("all");
    const plan = await store.plan({ to: 0 });
    f.write("a.txt", "three\n");
    await expect(store.rewind(plan)).rejects.toMatchObject({ code: "conflict", details: { paths: ["a.txt"] } });
    expect(text(f, "a.txt")).toBe("three\n");
    await expect(store.plan({ to: 7 })).rejects.toMatchObject({ code: "not_found" });
  });

  it("removes no file that was there before and ignored", async () => {
    const { f, open } = folderWithStores();
    f.write(".gitignore", "*.log\n");
    f.write("old.log", "there before\n");
    f.write("a.txt", "visible\n");
    f.commitAll();
    await pause(60);
    const store = await open();
    await store.beginTurn(1);
    f.write(".gitignore", "b.txt\n");
    f.write("new.log", "made in the turn\n");
    await store.endTurn("all");
    const plan = await store.plan({ to: 0 });
    expect(plan.files.map(({ path }) => path)).toEqual([".gitignore", "new.log"]);
    expect(plan.left).toEqual(["old.log"]);
    await store.rewind(plan);
    expect(text(f, "old.log")).toBe("there before\n");
  });

  it("has one holder at a time, and is removed as a whole", async () => {
    const { f, open, place } = folderWithStores();
    const store = await open();
    await expect(openCheckpoints({ ...place, workdir: f.work, exclude: [] })).rejects.toMatchObject({ code: "busy" });
    await expect(removeCheckpoints(place)).rejects.toMatchObject({ code: "busy" });
    await store.close();
    await removeCheckpoints(place);
    expect(existsSync(join(place.folder, "c1"))).toBe(false);
    await expect(openCheckpoints({ ...place, conversation: "../x", workdir: f.work, exclude: [] })).rejects
      .toMatchObject({ code: "invalid_request" });
  });

  it("leaves an ignored file that stands where a file would come back", async () => {
    const { f, open } = folderWithStores();
    f.write(".gitignore", "*.log\n");
    f.write("d", "a file\n");
    f.write("a.txt", "one\n");
    f.commitAll();
    const store = await open();
    await store.beginTurn(1);
    f.remove("d");
    f.write("d/ignored.log", "ignored\n");
    f.write("a.txt", "two\n");
    await store.endTurn("all");
    const plan = await store.plan({ to: 0 });
    expect([plan.conflicts, plan.in_the_way]).toEqual([["d"], ["d"]]);
    await expect(store.rewind(plan)).rejects.toMatchObject({ code: "conflict" });
    await store.rewind(await store.plan({ to: 0, keepTheirs: true }));
    expect([text(f, "d/ignored.log"), text(f, "a.txt")]).toEqual(["ignored\n", "one\n"]);
  });
});

function text(f: Fixture, path: string): string {
  return new TextDecoder().decode(f.read(path));
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
