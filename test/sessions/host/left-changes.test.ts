import { existsSync, mkdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { needsWall } from "../../ground/platform/os-walls/needs-wall.ts";
import { leftProject } from "./left-project.ts";
import { errorOf } from "./test-host.ts";

const textOf = (file: string) => readFileSync(file, "utf8");

describe("a session in place", () => {
  test("names what it left that runs programs, in its result, its events and the list of what waits", async (context) => {
    await needsWall(context, "bubblewrap");
    const { project, test, git, agent } = await leftProject();
    mkdirSync(join(project, "app/.vscode"), { recursive: true });
    mkdirSync(join(project, "same"));
    writeFileSync(join(project, ".gitignore"), "node_modules\n");
    writeFileSync(join(project, "app/.vscode/tasks.json"), "old");
    writeFileSync(join(project, "same/.envrc"), "same");
    writeFileSync(join(project, "package.json"), '{"scripts":{"prepare":"x"}}');
    git("add", "-A");
    git("commit", "-qm", "one");
    const result = await agent(`
      mkdir -p node_modules/x sub/.github/workflows && git init -q node_modules/x && echo x > sub/.github/workflows/a.yml
      echo evil > app/.vscode/tasks.json && ln -s /etc sub/etc
      echo same | tr -d '\\n' > same/.new && mv same/.new same/.envrc
      echo '{"scripts":{"prepare":"x","postinstall":"evil"}}' > package.json
      echo source > a.ts
    `);
    expect(result.output).toBe("");
    const held = result.held?.map(({ path, kind, change, files, target }) => ({ path, kind, change, files, target }));
    expect(held).toEqual([
      { path: "node_modules/x/.git", kind: "repository", change: "new", files: expect.any(Number) },
      { path: "sub/etc", kind: "link_out", change: "new", target: "/etc" },
      { path: "app/.vscode/tasks.json", kind: "acted_on", change: "changed" },
      { path: "sub/.github", kind: "acted_on", change: "new", files: 1 },
    ]);
    expect(result.held?.map(({ by }) => by)).toEqual([
      "git",
      "programs that follow links",
      "editors",
      "build servers",
    ]);
    expect(result.install_scripts).toEqual([{ path: "package.json", names: ["postinstall"] }]);
    const { session_id } = result;
    const events = [];
    for await (const { event } of (await test.host.sessions.open(session_id)).events()) events.push(event);
    expect(events.find(({ type }) => type === "held")).toEqual({
      type: "held",
      held: result.held,
      install_scripts: result.install_scripts,
    });
    const { workspaces } = test.host;
    expect(await workspaces.held()).toEqual([
      { session_id, place: "inplace", folder: project, at: expect.any(String), held: result.held },
    ]);

    const kept = await workspaces.settleHeld(session_id, { action: "apply", paths: ["sub/.github"] });
    expect(kept).toEqual({ session_id, settled: ["sub/.github"], held: result.held?.slice(0, 3) });
    expect(existsSync(join(project, "sub/.github/workflows/a.yml"))).toBe(true);
    await workspaces.settleHeld(session_id, { action: "drop" });
    expect(await workspaces.held()).toEqual([]);
    expect(existsSync(join(project, "node_modules/x/.git"))).toBe(false);
    expect(existsSync(join(project, "sub/etc"))).toBe(false);
    expect(textOf(join(project, "app/.vscode/tasks.json"))).toBe("old");
    expect(textOf(join(project, "a.ts"))).toBe("source\n");
  });

  test("drops nothing that has changed since, nor what it has no old content of", async (context) => {
    await needsWall(context, "bubblewrap");
    const { project, test, agent } = await leftProject();
    writeFileSync(join(project, ".gitignore"), "ignored\n");
    mkdirSync(join(project, "ignored"));
    writeFileSync(join(project, "ignored/.envrc"), "mine");
    mkdirSync(join(project, "ignored/.vscode"));
    writeFileSync(join(project, "ignored/.vscode/mine.json"), "mine");
    mkdirSync(join(project, "linked"));
    symlinkSync("../a", join(project, "linked/CLAUDE.md"));
    const { held, session_id } = await agent(`
      echo evil > ignored/.envrc; echo evil > ignored/.vscode/mine.json
      mkdir -p new/.vscode mine && echo x > new/.vscode/a.json && echo x > mine/.envrc
      ln -sf ../b linked/CLAUDE.md
    `);
    const paths = ["ignored/.envrc", "ignored/.vscode/mine.json", "linked/CLAUDE.md", "mine/.envrc", "new/.vscode"];
    expect(held?.map(({ path }) => path)).toEqual(paths);
    writeFileSync(join(project, "mine/.envrc"), "the person's");
    writeFileSync(join(project, "new/.vscode/mine.json"), "the person's");
    const { workspaces } = test.host;
    expect(await errorOf(workspaces.settleHeld(session_id, { action: "drop" }))).toMatchObject({
      code: "conflict",
      details: { paths: ["ignored/.envrc", "ignored/.vscode/mine.json", "mine/.envrc", "new/.vscode"] },
    });
    expect(readlinkSync(join(project, "linked/CLAUDE.md"))).toBe("../b");
    await workspaces.settleHeld(session_id, { action: "drop", paths: ["linked/CLAUDE.md"] });
    expect(readlinkSync(join(project, "linked/CLAUDE.md"))).toBe("../a");
    expect(textOf(join(project, "mine/.envrc"))).toBe("the person's");
    expect(await errorOf(workspaces.settleHeld(session_id, { action: "drop", paths: ["a"] }))).toMatchObject({
      code: "not_found",
    });
    expect((await workspaces.settleHeld(session_id, { action: "apply" })).held).toEqual([]);
  });

  test("leaves nothing to say about ordinary work", async (context) => {
    await needsWall(context, "bubblewrap");
    const { project, test, git, agent } = await leftProject();
    writeFileSync(join(project, "AGENTS.md"), "rules");
    git("add", "-A");
    git("commit", "-qm", "one");
    const { held, install_scripts } = await agent(
      "mkdir src node_modules; echo x > src/a.ts; echo x > node_modules/a.js",
    );
    expect({ held, install_scripts }).toEqual({});
    expect(await test.host.workspaces.held()).toEqual([]);
  });
});

test("a session in a worktree names what an apply will hold", async (context) => {
  await needsWall(context, "bubblewrap");
  const { project, test, git, agent } = await leftProject();
  writeFileSync(join(project, "a.txt"), "a");
  git("add", "-A");
  git("commit", "-qm", "one");
  const { held, session_id } = await agent("mkdir sub; echo x > sub/.envrc; echo x > a.txt", "worktree");
  expect(held).toMatchObject([{ path: "sub/.envrc", kind: "acted_on", change: "new" }]);
  const { workspaces } = test.host;
  expect(await workspaces.held()).toMatchObject([{ session_id, place: "worktree", held }]);
  expect(existsSync(join(project, "sub"))).toBe(false);
  expect(await workspaces.apply(session_id)).toMatchObject({ artifacts: [{ path: "a.txt" }], held });
  await workspaces.settleHeld(session_id, { action: "drop" });
  expect(await workspaces.held()).toEqual([]);
  expect(existsSync(join(project, "sub"))).toBe(false);
});
