import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { approveSource, sourceRules } from "../../../core/walls/agent/approve-source.ts";

test("approveSource: a hidden place that holds the whole project hides nothing of it, and all that is beside it", async () => {
  const root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-sources-")));
  try {
    const state = join(root, "state");
    const project = join(state, "workspaces", "one", "tree");
    await mkdir(join(project, ".agent", "keys"), { recursive: true });
    for (
      const file of [
        join(project, ".agent", "settings.json"),
        join(project, ".agent", "keys", "k"),
        join(state, "token"),
      ]
    ) {
      await writeFile(file, "x");
    }
    await symlink(join(state, "token"), join(project, ".agent", "token"));
    const hidden = [state, join(project, ".agent", "keys")];
    const rules = await sourceRules({ hidden, writable: [], project });
    const isShown = async (path: string, by = rules) => "real" in (await approveSource(path, by) ?? {});
    expect(await isShown(join(project, ".agent", "settings.json"))).toBe(true);
    expect(await isShown(join(project, ".agent", "settings.json"), await sourceRules({ hidden, writable: [] }))).toBe(
      false,
    );
    for (
      const path of [
        join(project, ".agent", "token"),
        join(project, ".agent", "keys", "k"),
        join(state, "token"),
        state,
      ]
    ) {
      expect(await isShown(path), path).toBe(false);
    }
  } finally {
    await rm(root, { recursive: true });
  }
});
