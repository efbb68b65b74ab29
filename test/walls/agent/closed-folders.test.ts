import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, expect, it } from "vitest";
import { guardedPlaces } from "../../../core/walls/agent/guarded-names.ts";
import { keepEmpty } from "../../../core/walls/agent/kept-empty.ts";

/** Root can look into every folder: for the test it is another user. */
const other = 65534;

let root = "";
let work = "";
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "bulkhead-closed-")));
  work = join(root, "work");
  for (const folder of [".git/hooks", ".vscode"]) mkdirSync(join(work, folder), { recursive: true });
  writeFileSync(join(work, ".git", "config"), "");
  if (process.getuid?.() !== 0) return;
  for (const path of ["..", ".", ".git", ".git/hooks", ".git/config", ".vscode"]) {
    chownSync(join(work, path), other, other);
  }
  process.seteuid?.(other);
});
afterEach(() => {
  if (process.getuid?.() === 0) process.seteuid?.(0);
  rmSync(root, { recursive: true });
});

it("guards nothing less for an agent that closes a folder of the project to have it forgotten", async () => {
  const all = [".vscode", ".git/hooks", ".git/config"].map((path) => join(work, path));
  expect((await guardedPlaces(work)).sealed.sort()).toEqual(all.sort());
  const refused = { code: "io_error", hint: expect.stringContaining("chmod u+rwx") };
  for (const [path, mode] of [[".git", 0o000], [".git", 0o111], [".", 0o111], [".", 0o000]] as const) {
    chmodSync(join(work, path), mode);
    await expect(guardedPlaces(work), `${path} ${mode}`).rejects.toMatchObject(refused);
    if (path === ".") await expect(keepEmpty(work, join(root, "kept.json"))).rejects.toMatchObject(refused);
    chmodSync(join(work, path), 0o755);
  }
  expect((await guardedPlaces(work)).sealed.sort()).toEqual(all.sort());
});

it("takes what is not there as missing", async () => {
  const none = { sealed: [], held: [], links: [], left: [] };
  rmSync(join(work, ".git"), { recursive: true });
  expect(await guardedPlaces(work)).toEqual({ ...none, sealed: [join(work, ".vscode")] });
  expect(await guardedPlaces(join(work, "none"))).toEqual(none);
});

it("tells of a project that is closed to writing, where nothing can be made", async () => {
  const record = join(root, "kept.json");
  const open = await keepEmpty(work, record);
  expect([open.isClosed, readdirSync(work).includes(".cursor")]).toEqual([false, true]);
  await open.release();
  for (const mode of [0o555, 0o644]) {
    chmodSync(work, mode);
    const closed = await keepEmpty(work, record);
    expect([closed.isClosed, readdirSync(work)], String(mode)).toEqual([true, [".git", ".vscode"]]);
    await closed.release();
    chmodSync(work, 0o755);
  }
});
