import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openCheckpoints } from "../../../core/records/checkpoints/checkpoint-store.ts";
import { readTurnDiff } from "../../../core/records/checkpoints/turn-diff.ts";
import { errorOf } from "../../sessions/host/test-host.ts";
import { folderWithStores } from "./store-fixture.ts";

const nothing = { named: [], calls: [] };

test.each([true, false])(
  "readTurnDiff shows what a turn changed, beside an open store; repository: %s",
  async (repository) => {
    const { f, place, open } = folderWithStores({ repository });
    writeFileSync(join(f.work, "a.txt"), "one\n");
    writeFileSync(join(f.work, "gone.txt"), "gone\n");
    const store = await open();
    await store.beginTurn(1);
    expect(await errorOf(readTurnDiff({ ...place, turn: 1 }))).toMatchObject({ code: "not_found" });
    writeFileSync(join(f.work, "a.txt"), "two\n");
    writeFileSync(join(f.work, "new.txt"), "new\n");
    rmSync(join(f.work, "gone.txt"));
    await store.endTurn({ named: ["a.txt"], calls: [] });
    writeFileSync(join(f.work, "a.txt"), "a person's\n");
    const diff = await readTurnDiff({ ...place, turn: 1 });
    expect(diff).toMatchObject({
      turn: 1,
      taken_back: false,
      files: [
        { path: "a.txt", change: "modified" },
        { path: "gone.txt", change: "deleted", unclaimed: true },
        { path: "new.txt", change: "created", unclaimed: true },
      ],
    });
    expect(diff.files[0]).not.toHaveProperty("unclaimed");
    expect(diff.patch).toContain("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n");
    expect(diff.patch).toContain("+++ b/new.txt\n");
    expect(diff).not.toHaveProperty("patch_cut");
    expect(await errorOf(readTurnDiff({ ...place, turn: 2 }))).toMatchObject({ code: "not_found" });
  },
);

test("readTurnDiff tells paths below the working directory, and that a turn was taken back", async () => {
  const { f, place } = folderWithStores();
  const workdir = join(f.work, "deep");
  mkdirSync(workdir);
  const store = await openCheckpoints({ ...place, workdir, exclude: [] });
  await store.beginTurn(1);
  writeFileSync(join(workdir, "a.txt"), "one\n");
  await store.endTurn("all");
  await store.rewind(await store.plan({ to: 0 }));
  await store.close();
  const diff = await readTurnDiff({ ...place, turn: 1 });
  expect(diff).toMatchObject({ taken_back: true, files: [{ path: "a.txt", change: "created" }] });
  expect(diff.patch).toContain("+++ b/a.txt\n");
});

test("readTurnDiff bounds the list and the patch, and reads no attribute and no program of the folder", async () => {
  const { f, place, open } = folderWithStores();
  const store = await open();
  await store.beginTurn(1);
  writeFileSync(join(f.work, ".gitattributes"), "*.txt diff=loud\n");
  writeFileSync(join(f.work, "big.txt"), "x\n".repeat(700_000));
  writeFileSync(join(f.work, "bytes.txt"), new Uint8Array([0x68, 0xff, 0x0a]));
  for (let at = 0; at < 1010; at++) writeFileSync(join(f.work, `f${at}.txt`), `${at}`.repeat(500));
  await store.endTurn(nothing);
  const diff = await readTurnDiff({ ...place, turn: 1 });
  expect(diff.files).toHaveLength(1000);
  expect(diff.files_omitted).toBe(13);
  expect(diff.patch_cut).toBe(true);
  expect(diff.patch.length).toBeLessThanOrEqual(1024 * 1024);
  expect(diff.patch).toContain("Binary files /dev/null and b/big.txt differ\n");
  expect(diff.patch).toContain("+h\ufffd\n");
  expect(diff.patch.endsWith("\n")).toBe(true);
});
