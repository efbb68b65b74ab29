import { chmod, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import process from "node:process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openCrashFiles } from "../../../core/sessions/host/state/crash-store.ts";

let folder = "";
beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), "bulkhead-crashes-")), "crashes");
});
afterEach(() => rm(join(folder, ".."), { recursive: true, force: true }));

const record = (plugin_id: string, quarantined_at: string | null) => ({
  plugin_id,
  crashes: [{ at: "2026-01-01T00:00:00.000Z", code: "crash" as const, message: "It fell." }],
  quarantined_at,
});

describe("openCrashFiles", () => {
  test("keeps a record for each plugin, whole, for its owner alone, and lists those in quarantine", async () => {
    const files = openCrashFiles(folder);
    expect(await files.read("a")).toBeNull();
    expect(await files.quarantined()).toEqual([]);
    await files.write(record("a", null));
    await files.write(record("b", "2026-01-01T00:00:01.000Z"));
    await files.write(record("b", "2026-01-01T00:00:02.000Z"));
    expect(await openCrashFiles(folder).read("a")).toEqual(record("a", null));
    expect(await files.quarantined()).toEqual([record("b", "2026-01-01T00:00:02.000Z")]);
    expect((await readdir(folder)).sort()).toEqual(["a.json", "b.json"]);
    expect((await stat(join(folder, "b.json"))).mode & 0o077).toBe(0);
  });

  test("removes a record, and says whether there was one", async () => {
    const files = openCrashFiles(folder);
    await files.write(record("a", null));
    expect(await files.remove("a")).toBe(true);
    expect(await files.remove("a")).toBe(false);
    expect(await files.read("a")).toBeNull();
  });

  test("an id that is a path stays in the folder", async () => {
    await writeFile(join(folder, "..", "out.json"), "{}");
    expect(await openCrashFiles(folder).remove("../out")).toBe(false);
    expect(await readdir(join(folder, ".."))).toContain("out.json");
  });

  test.each([["cut off", '{"plugin_id":"a","cra'], ["of another shape", '{"plugin_id":1}'], ["empty", ""]])(
    "a file that is %s says nothing",
    async (_, text) => {
      const files = openCrashFiles(folder);
      await files.write(record("a", "2026-01-01T00:00:00.000Z"));
      await writeFile(join(folder, "a.json"), text);
      expect(await files.read("a")).toBeNull();
      expect(await files.quarantined()).toEqual([]);
    },
  );

  test("rejects where it cannot write, and leaves no draft", async () => {
    const files = openCrashFiles(folder);
    await files.write(record("a", null));
    await rm(join(folder, "a.json"));
    await chmod(folder, 0o500);
    const failed = await files.write(record("a", null)).then(() => false, () => true);
    await chmod(folder, 0o700);
    // The superuser may write anywhere.
    expect(failed).toBe(process.getuid?.() !== 0);
    expect((await readdir(folder)).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });
});
