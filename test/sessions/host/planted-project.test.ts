import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import { createHost } from "../../../core/sessions/host/create-host.ts";
import { fakeTerminal } from "../../doors/cli/fake-terminal.ts";
import { openDoor } from "../../doors/http/door-fixture.ts";
import { needsWall } from "../../ground/platform/os-walls/needs-wall.ts";
import { needsProgram } from "../../needs-program.ts";
import { isNamed, plantAll, type PlantedProject, plantedProject } from "./planted-project.ts";

const kinds = {
  "shells and terminals": /shells and terminals/,
  "editors": /editors/,
  "coding agents": /coding agents/,
  "package managers": /command-line tools/,
} as const;
const kindNames = Object.keys(kinds) as (keyof typeof kinds)[];

/** Folders that a person enters: each may be a repository of its own by now. */
const folders = [".", "app", "new", "lib", "sub", "bare", "evil", "node_modules/dep", "../linked"];

const packages = [".", "app", "gyp", "tar"];
const install = "npm install --offline --no-audit --no-fund --no-package-lock";

const commands = ["git status", "git diff", "git -c user.name=me -c user.email=me@x commit -qam mine", "git log -1"];

/** Files of each kind that are not what they were. */
function changedIn(made: PlantedProject, before: Map<string, Map<string, string>>): { path: string; by: RegExp }[] {
  return kindNames.flatMap((kind) =>
    [...made.actedOn(kind)].filter(([path, content]) => before.get(kind)?.get(path) !== content)
      .map(([path]) => ({ path, by: kinds[kind] }))
  );
}

test(
  "in a repository of every kind, worked on in place, nothing that an agent planted runs outside but what was named before",
  {
    timeout: 120_000,
  },
  async (context) => {
    await needsWall(context, "bubblewrap");
    needsProgram(context, "npm");
    const made = await plantedProject({ submodule: true });
    const { project, test: { host, root, stateDir }, marks, ran, agent, outside } = made;
    const before = new Map(kindNames.map((kind) => [kind, made.actedOn(kind)]));
    const honest = await agent("echo work >> README.md; git commit -qam work");
    expect(honest).toMatchObject({ output: "", git_changes: [{ name: "refs/heads/main", outcome: "moved" }] });
    expect(honest.held).toBeUndefined();
    const result = await agent(`export MARKS='${marks}'\n${plantAll}`);
    expect(result.output).toContain("done");
    expect(ran()).toEqual([]);

    // At the top nothing runs at all.
    for (const command of [...commands, "git add README.md a.txt", "git commit -qm mine"]) outside(".", command);
    expect(ran()).toEqual([]);

    // Elsewhere git runs what was named as git's, and nothing else.
    for (const folder of folders) for (const command of commands) outside(folder, command);
    const byGit = ran();
    expect(byGit.filter((path) => !isNamed(result, path, /^git$/))).toEqual([]);
    expect(byGit).toContain("sub/.git");

    // A shell, an editor and an agent act on what was named as theirs, and on nothing else.
    const changed = changedIn(made, before);
    expect(changed.filter(({ path, by }) => !isNamed(result, path, by)).map(({ path }) => path)).toEqual([]);
    expect(changed.map(({ path }) => path)).toEqual(expect.arrayContaining(["app/.envrc", "app/.vscode/tasks.json"]));
    expect(changed.map(({ path }) => path)).not.toEqual(expect.arrayContaining(["AGENTS.md"]));

    // An install runs the scripts that were named.
    for (const folder of packages) outside(folder, install);
    expect(ran()).toEqual(["app/package.json", "package.json", "tar/package.json"]);
    expect(result.install_scripts).toEqual([
      { path: "app/package.json", names: ["preinstall", "prepare"] },
      { path: "gyp/binding.gyp", names: ["install"] },
      { path: "package.json", names: ["postinstall"] },
      { path: "tar/package.json", names: ["packages from files or addresses"] },
    ]);

    // The command line and the console say the same.
    const terminal = fakeTerminal({
      args: ["session", "show", result.session_id, "--state-dir", stateDir],
      cwd: root,
      columns: 400,
    });
    expect(await runCli(terminal, { createHost: (options) => createHost({ ...options, bundledDir: null }) })).toBe(0);
    const shown = terminal.out();
    for (const { path, by } of result.held ?? []) {
      expect(shown).toContain(path);
      expect(shown).toContain(`${by}: `);
    }
    for (const { path, names } of result.install_scripts ?? []) {
      expect(shown).toContain(path);
      for (const name of names) expect(shown).toContain(name);
    }
    const door = await openDoor({ workspaces: host.workspaces });
    const [waiting] = await (await door.client("admin")).workspaces.held();
    expect(waiting).toMatchObject({ session_id: result.session_id, folder: project, held: result.held });
  },
);

test("the same in a worktree of the session: nothing of it is in the project, and nothing runs", {
  timeout: 120_000,
}, async (context) => {
  await needsWall(context, "bubblewrap");
  needsProgram(context, "npm");
  // The host makes no worktree of a repository with submodules.
  const made = await plantedProject({ submodule: false });
  const { project, marks, ran, agent, outside } = made;
  const before = new Map(kindNames.map((kind) => [kind, made.actedOn(kind)]));
  const result = await agent(`export MARKS='${marks}'\n${plantAll}`, "worktree");
  expect(result.output).toContain("done");
  for (const folder of folders) for (const command of commands) outside(folder, command);
  for (const folder of packages) outside(folder, install);
  expect(ran()).toEqual([]);
  expect(changedIn(made, before)).toEqual([]);
  for (const path of ["app/.envrc", "app/.vscode/tasks.json"]) expect(isNamed(result, path, /./)).toBe(true);

  // What is applied leaves out what was named.
  const applied = await made.test.host.workspaces.apply(result.session_id);
  expect(applied.artifacts.map(({ path }) => path)).toContain("a.txt");
  for (const folder of folders) for (const command of commands) outside(folder, command);
  expect(ran()).toEqual([]);
  expect(changedIn(made, before)).toEqual([]);
  expect(execFileSync("cat", [join(project, "a.txt")], { encoding: "utf8" })).toBe("a\nmore\n");
});
