import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";
import { afterEach, expect, it } from "vitest";
import { workspaceFixture } from "./workspace-fixture.ts";

const path = process.env["PATH"] ?? "";
afterEach(() => {
  process.env["PATH"] = path;
});

/** Puts a script in the place of git that does something before each change to worktrees. */
function beforeChanges(folder: string, script: string): void {
  const text = `#!/bin/sh
case " $* " in *" worktree "*) ${script} ;; esac
PATH='${path}' exec git "$@"
`;
  writeFileSync(join(folder, "git"), text);
  chmodSync(join(folder, "git"), 0o755);
  process.env["PATH"] = `${folder}${delimiter}${path}`;
}

it("sessions that start and end together change the registrations of their repository one after another", async () => {
  const f = workspaceFixture();
  const [busy, broken] = [join(f.root, "busy"), join(f.root, "broken")];
  beforeChanges(f.root, `mkdir '${busy}' || echo x >> '${broken}'; sleep 0.02; rmdir '${busy}'`);
  const ids = ["s1", "s2", "s3", "s4"];
  await Promise.all(ids.map((id) => f.open(id)));
  for (const id of ids) await f.workspaces.end(id);
  await Promise.all(ids.map((id) => f.workspaces.discard(id)));
  expect(existsSync(broken)).toBe(false);
  expect(f.git("worktree", "list").trim().split("\n")).toHaveLength(1);
});

it.each([
  "failed to read .git/worktrees/work2/commondir: No such file or directory",
  "Invalid path '/work/.git/worktrees/work': No such file or directory",
])("a registration that another program is making (%s) is waited for", async (problem) => {
  const f = workspaceFixture();
  const count = join(f.root, "count");
  const fail = `echo x >> '${count}'; [ "$(wc -l < '${count}')" -gt 2 ] || { echo "fatal: ${problem}" >&2; exit 128; }`;
  beforeChanges(f.root, fail);
  const { at } = await f.open();
  expect(readFileSync(count, "utf8")).toBe("x\nx\nx\n");
  expect(at.git("status", "--porcelain")).toBe("");
});

it("another problem of git is told at once", async () => {
  const f = workspaceFixture();
  const count = join(f.root, "count");
  beforeChanges(f.root, `echo x >> '${count}'; echo "fatal: no space left" >&2; exit 128`);
  await expect(f.open()).rejects.toMatchObject({ code: "io_error", message: expect.stringContaining("no space left") });
  expect(readFileSync(count, "utf8").split("\n").length).toBeLessThan(4);
});
