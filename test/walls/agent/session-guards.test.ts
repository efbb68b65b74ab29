import { mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SessionGuards } from "../../../core/walls/agent/session-guards.ts";
import type { CapabilityEvent } from "../../../plugin-sdk/envelope.ts";
import { afterEveryTest } from "../../clean-up.ts";

const folders: string[] = [];

afterEveryTest(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

/** Guards of a project in which nothing is mounted: as where the system holds no link, or a mount has fallen. */
async function unmounted() {
  const workdir = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-guards-")));
  folders.push(workdir);
  const events: CapabilityEvent[] = [];
  const guards = new SessionGuards({ workdir, emit: (event) => void events.push(event) });
  const told = async (before: readonly string[]) => {
    await guards.tell(new Set(before));
    return events.map(({ target, reason }) => [target, reason]);
  };
  return { workdir, guards, told, path: (name: string) => join(workdir, name) };
}

test("SessionGuards tells of a link that was replaced, what it was and what it is", async () => {
  const { guards, told, path } = await unmounted();
  await symlink("AGENTS.md", path("CLAUDE.md"));
  await writeFile(path("AGENTS.md"), "old");
  const { links } = await guards.now(Promise.resolve([]));
  expect(links).toEqual([{ at: path("CLAUDE.md"), isDangling: false }]);
  // What it says is read while a program starts.
  await new Promise((resolve) => setTimeout(resolve, 100));
  await rm(path("CLAUDE.md"));
  await symlink("evil.md", path("CLAUDE.md"));
  expect(await told(["AGENTS.md", "CLAUDE.md"])).toEqual([
    [
      "workdir:CLAUDE.md",
      'It was changed while the session ran. Before: a link to "AGENTS.md". Now: a link to "evil.md".',
    ],
  ]);
});

test("SessionGuards tells of a folder that was moved away and back, and of one that another has replaced", async () => {
  const { guards, told, path } = await unmounted();
  for (const name of [".vscode", ".zed"]) await mkdir(path(name));
  await guards.now(Promise.resolve([]));
  // One of the runtimes tells times in whole seconds.
  await new Promise((resolve) => setTimeout(resolve, 1100));
  await rename(path(".vscode"), path("moved"));
  await rename(path("moved"), path(".vscode"));
  await rm(path(".zed"), { recursive: true });
  await mkdir(path(".zed"));
  expect(await told([".vscode", ".zed"])).toEqual([
    ["workdir:.vscode", "It was changed while the session ran."],
    ["workdir:.zed", "It was changed while the session ran."],
  ]);
});

test("SessionGuards compares with what the first program found, whatever later ones find", async () => {
  const { guards, told, path } = await unmounted();
  await writeFile(path("AGENTS.md"), "old");
  await guards.now(Promise.resolve([]));
  await writeFile(path("AGENTS.md"), "new");
  await guards.now(Promise.resolve([]));
  expect(await told(["AGENTS.md"])).toEqual([["workdir:AGENTS.md", expect.stringContaining("It was changed")]]);
});

test("SessionGuards cleans the names that it tells, which an agent chose", async () => {
  const { guards, told, path } = await unmounted();
  await guards.now(Promise.resolve([]));
  await writeFile(path("a\u001b[2J\n\u202e.mdc"), "");
  await writeFile(path(`${"x".repeat(240)}.mdc`), "");
  for (const [target] of await told([])) expect(target).toMatch(/^workdir:[ -~]{1,400}$/);
});
