import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  type CheckpointsOptions,
  type CheckpointStore,
  openCheckpoints,
} from "../../../core/records/checkpoints/checkpoint-store.ts";
import { type Fixture, makeFixture } from "../git/git-fixture.ts";

describe("CheckpointStore", () => {
  it("takes a turn back, and undoes that", async () => {
    const { f, open } = fixture();
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
});

function text(f: Fixture, path: string): string {
  return new TextDecoder().decode(f.read(path));
}

function fixture({ repository = true } = {}): {
  f: Fixture;
  open(options?: Partial<CheckpointsOptions>): Promise<CheckpointStore>;
} {
  const f = makeFixture({ repository });
  const stores: CheckpointStore[] = [];
  onTestFinished(async () => {
    for (const store of stores) await store.close();
    rmSync(f.root, { recursive: true, force: true });
  });
  return {
    f,
    async open(options = {}) {
      const folder = join(f.root, "checkpoints");
      const store = await openCheckpoints({ folder, conversation: "c1", workdir: f.work, exclude: [], ...options });
      stores.push(store);
      return store;
    },
  };
}
