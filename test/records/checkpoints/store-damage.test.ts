import { chmodSync, existsSync, lstatSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { verifyCheckpoints } from "../../../core/records/checkpoints/verify-store.ts";
import type { Fixture } from "../git/git-fixture.ts";
import { folderWithStores } from "./store-fixture.ts";

describe("CheckpointStore, in odd places and after damage", () => {
  it("puts back bytes, also where git would change line ends or leave a filter's work to a program", async () => {
    const { f, open } = folderWithStores();
    f.write(".gitattributes", "*.txt text=auto\n*.id ident\n*.crlf text eol=crlf\n*.f filter=f\n");
    const contents = { "a.txt": "one\r\ntwo\n", "b.id": "$Id: old $\n", "c.crlf": "one\r\n", "d.f": "clean\n" };
    for (const [path, content] of Object.entries(contents)) f.write(path, content);
    f.git("config", "filter.f.clean", "sed s/^/filtered-/");
    f.commitAll();
    expect(f.git("show", ":a.txt")).toBe("one\ntwo\n");
    expect(f.git("show", ":d.f")).toBe("filtered-clean\n");
    const store = await open();
    await store.beginTurn(1);
    for (const path of Object.keys(contents)) f.write(path, "agent's\r\n");
    await store.endTurn("all");
    await store.rewind(await store.plan({ to: 0 }));
    for (const [path, content] of Object.entries(contents)) {
      expect(text(f, path), path).toBe(content);
    }
  });

  it("works in a part of a repository, in a plain folder, and says when a merge is under way", async () => {
    const { f, open } = folderWithStores();
    f.write("sub/a.txt", "one\n");
    f.write("top.txt", "one\n");
    f.commitAll();
    const store = await open({ workdir: join(f.work, "sub") });
    await store.beginTurn(1);
    f.write("sub/a.txt", "two\n");
    f.write("top.txt", "two\n");
    writeFileSync(join(f.work, ".git/MERGE_HEAD"), f.git("rev-parse", "HEAD"));
    expect((await store.endTurn("all")).artifacts?.map(({ path }) => path)).toEqual(["a.txt"]);
    const plan = await store.plan({ to: 0 });
    expect([plan.files, plan.under_way]).toEqual([[{ path: "a.txt", change: "restored" }], "merge"]);
    await store.rewind(plan);
    expect([text(f, "sub/a.txt"), text(f, "top.txt")]).toEqual(["one\n", "two\n"]);

    const plain = folderWithStores({ repository: false });
    plain.f.write("a.txt", "one\n");
    const own = await plain.open();
    await own.beginTurn(1);
    plain.f.write("a.txt", "two\n");
    chmodSync(join(plain.f.work, "a.txt"), 0o755);
    await own.endTurn("all");
    await own.rewind(await own.plan({ to: 0 }));
    expect(text(plain.f, "a.txt")).toBe("one\n");
    expect(lstatSync(join(plain.f.work, "a.txt")).mode & 0o100).toBe(0);
    expect(existsSync(join(plain.f.work, ".git"))).toBe(false);
  });

  it("keeps to its bounds, the oldest turns first", async () => {
    const { f, open } = folderWithStores();
    f.write("a.txt", "0\n");
    f.commitAll();
    const store = await open({ limits: { turns: 3, packs: 3 } });
    for (let turn = 1; turn <= 5; turn++) {
      await store.beginTurn(turn);
      f.write("a.txt", `${turn}\n`);
      f.write(`untracked-${turn}.txt`, "x\n");
      await store.endTurn("all");
    }
    await store.look();
    await expect(store.plan({ to: 0 })).rejects.toMatchObject({ code: "not_found" });
    await expect(store.plan({ to: 1 })).rejects.toMatchObject({ code: "not_found" });
    expect((await store.plan({ to: 2 })).files.map(({ path }) => path)).toContain("untracked-3.txt");
    await store.rewind(await store.plan({ to: 3 }));
    expect(text(f, "a.txt")).toBe("3\n");
    expect(existsSync(join(f.work, "untracked-4.txt"))).toBe(false);
    await store.rewind(await store.plan({ undo: true }));
    expect(text(f, "a.txt")).toBe("5\n");
  });

  it("goes back to what was there when it began, and says so of what was before", async () => {
    const { f, open } = folderWithStores();
    f.write("a.txt", "by turn 2\n");
    f.commitAll();
    const store = await open();
    await store.beginTurn(3);
    f.write("a.txt", "3\n");
    await store.endTurn("all");
    for (const to of [0, 1]) {
      await expect(store.plan({ to })).rejects.toMatchObject({
        code: "not_found",
        hint: "Run: bulkhead session rewind <id> --to 2",
      });
    }
    await store.rewind(await store.plan({ to: 2 }));
    expect(text(f, "a.txt")).toBe("by turn 2\n");
    await store.rewind(await store.plan({ undo: true }));
    expect(text(f, "a.txt")).toBe("3\n");
  });

  it("is mended or begun again where it is damaged, and never wrong", async () => {
    const { f, open, place } = folderWithStores();
    f.write("a.txt", "one\n");
    f.commitAll();
    const store = await open();
    const before = await store.beginTurn(1);
    f.write("a.txt", "two\n");
    const { checkpoint: after } = await store.endTurn("all");
    await store.close();
    const turns = [{ turn: 1, after, workdir: f.work }];
    expect(await verifyCheckpoints({ ...place, turns })).toEqual([]);
    expect(await verifyCheckpoints({ ...place, turns: [{ turn: 1, after: before, workdir: f.work }] })).toEqual([
      { turn: 1, fault: "differs" },
    ]);
    expect(await verifyCheckpoints({ ...place, turns: [...turns, { turn: 2, after, workdir: f.work }] })).toEqual([
      { turn: 2, fault: "missing" },
    ]);
    // The conversation has moved on from there.
    expect(await verifyCheckpoints({ ...place, turns: [{ turn: 2, after, workdir: f.root }] })).toEqual([]);
    for (const name of ["index", "index.lock"]) writeFileSync(join(place.folder, "c1", name), "no index");
    const again = await open();
    expect((await again.plan({ to: 0 })).files).toEqual([{ path: "a.txt", change: "restored" }]);
    await again.close();
    writeFileSync(join(place.folder, "c1/record.json"), '{"version":1,');
    const fresh = await open();
    await expect(fresh.plan({ to: 1 })).rejects.toMatchObject({ code: "not_found" });
    expect((await fresh.plan({ to: 0 })).files).toEqual([]);
  });

  it("finds damage in its packs", async () => {
    const { f, open, place } = folderWithStores();
    f.write("a.txt", "one\n");
    f.commitAll();
    const store = await open();
    await store.beginTurn(1);
    f.write("a.txt", "two\n");
    const { checkpoint: after } = await store.endTurn("all");
    await store.close();
    const packs = join(place.folder, "c1/objects/pack");
    for (const name of readdirSync(packs).filter((one) => one.endsWith(".pack"))) {
      const bytes = readFileSync(join(packs, name));
      bytes[20]! ^= 1;
      chmodSync(join(packs, name), 0o600);
      writeFileSync(join(packs, name), bytes);
    }
    expect(await verifyCheckpoints({ ...place, turns: [{ turn: 1, after, workdir: f.work }] })).toEqual([
      { turn: 1, fault: "damaged" },
    ]);
  });

  it("finishes a rewind that was killed, and leaves alone what was changed since", async () => {
    const { f, open, place } = folderWithStores();
    const long = "a line of the file as it was\n".repeat(1000);
    f.write("a.txt", long);
    f.write("b.txt", "one\n");
    f.commitAll();
    const store = await open();
    await store.beginTurn(1);
    f.write("a.txt", "two\n");
    f.write("b.txt", "two\n");
    f.write("new.txt", "two\n");
    await store.endTurn("all");
    const plan = await store.plan({ to: 0 });
    await store.close();
    // As the record is when the first file is half written.
    const file = join(place.folder, "c1/record.json");
    const record = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
    const { now, want, to, line_before, line_after, undo } = plan;
    writeFileSync(file, JSON.stringify({ ...record, swap: { now, want, to, line_before, line_after, undo } }));
    f.write("a.txt", long.slice(0, 5000));
    f.write("b.txt", "person's, since\n");
    const again = await open();
    expect([text(f, "a.txt"), text(f, "b.txt")]).toEqual([long, "person's, since\n"]);
    expect(existsSync(join(f.work, "new.txt"))).toBe(false);
    const undone = await again.plan({ undo: true, keepTheirs: true });
    expect(undone.conflicts).toEqual(["b.txt"]);
    await again.rewind(undone);
    expect([text(f, "a.txt"), text(f, "b.txt"), text(f, "new.txt")]).toEqual(["two\n", "person's, since\n", "two\n"]);
  });

  it("counts a turn that was cut off as no one's", async () => {
    const { f, open } = folderWithStores();
    f.write("a.txt", "one\n");
    f.commitAll();
    const store = await open();
    await store.beginTurn(1);
    f.write("a.txt", "two\n");
    await store.close();
    const next = await open();
    await next.beginTurn(2);
    f.write("b.txt", "new\n");
    await next.endTurn("all");
    const plan = await next.plan({ to: 0 });
    expect([plan.files.map(({ path }) => path), plan.unclaimed]).toEqual([["b.txt"], ["a.txt"]]);
  });
});

function text(f: Fixture, path: string): string {
  return new TextDecoder().decode(f.read(path));
}
