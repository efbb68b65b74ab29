import { execFileSync } from "node:child_process";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, test } from "vitest";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { needsWall } from "../../ground/platform/os-walls/needs-wall.ts";
import { checkSession } from "../session/session-rules.ts";
import { adapterCode, completed, openHost, type TestHost } from "./test-host.ts";

const identity = "git config user.name agent; git config user.email agent@example.com";

function git(cwd: string, ...args: string[]): string {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" };
  return execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@localhost", "-C", cwd, ...args], { env })
    .toString();
}

/** A host with an agent that runs its prompt as a shell script, and a repository with one commit. */
async function withAgent(): Promise<TestHost> {
  const made = await openHost();
  git(made.workdir, "init", "-q", "-b", "main");
  await writeFile(join(made.workdir, "a.txt"), "one\n");
  git(made.workdir, "add", ".");
  git(made.workdir, "commit", "-qm", "first");
  const code = adapterCode(`    const child = await ctx.run("/bin/sh", ["-c", request.prompt]);
    for await (const text of child.stdout) yield { type: "output", stream: "stdout", data: text };
    await child.exit;
    yield ${completed};`);
  const manifest = `permissions:\n  run:\n    - { binary: /bin/sh, args: ["-c {*}"] }\n`;
  await made.add("shell", { type: "agent", code, manifest }, {
    grant: { run: [{ binary: "/bin/sh" }] },
  });
  return made;
}

async function run({ host, workdir }: TestHost, request: Partial<SessionRequest>) {
  const session = await host.runSession({ workdir, prompt: "", retry: "never", ...request }, { adapter: "shell" });
  const events: Envelope[] = [];
  for await (const envelope of session.events()) events.push(envelope);
  expect(checkSession(events)).toEqual([]);
  return { result: await session.result(), events };
}

describe("a session of a contained agent", () => {
  test("commits in place, and its result says where the commits are", async (context) => {
    await needsWall(context, "bubblewrap");
    const made = await withAgent();
    const script = `${identity}; echo two >> a.txt; git commit -qam second; echo new > b.txt; git add b.txt`;
    const { result, events } = await run(made, { prompt: script });
    expect(result.git_changes).toMatchObject([{ name: "refs/heads/main", outcome: "moved" }]);
    expect(events.find(({ event }) => event.type === "git")?.event).toMatchObject({ changes: result.git_changes });
    expect(result.provenance.git_head).toBe(git(made.workdir, "rev-parse", "HEAD").trim());
    expect(result.artifacts?.map(({ path, change }) => `${path} ${change}`).sort()).toEqual([
      "a.txt modified",
      "b.txt created",
    ]);
    expect(git(made.workdir, "log", "--format=%s %an")).toBe("second agent\nfirst t\n");
    expect(git(made.workdir, "status", "--short")).toBe("A  b.txt\n");
  });

  test("commits in a worktree, and apply keeps the commits", async (context) => {
    await needsWall(context, "bubblewrap");
    const made = await withAgent();
    const script = `${identity}; echo two >> a.txt; git commit -qam second; git tag v1; echo dirty >> a.txt; git stash`;
    const { result } = await run(made, { prompt: script, workspace: "worktree" });
    expect(result.git_changes?.map(({ name, outcome }) => `${name} ${outcome}`)).toEqual([
      "HEAD moved",
      "stash@{0} kept",
      "refs/tags/v1 kept",
    ]);
    expect(git(made.workdir, "log", "--format=%s", "--branches")).toBe("first\n");
    const { kept_commit } = await made.host.workspaces.apply(result.session_id);
    expect(git(made.workdir, "log", "--format=%s", kept_commit!)).toBe("second\nfirst\n");
    expect(git(made.workdir, "rev-parse", `refs/bulkhead/${result.session_id}`)).toBe(`${kept_commit}\n`);
    expect(git(made.workdir, "status", "--short")).toBe(" M a.txt\n");
  });

  test("commits in a person's linked worktree and in a package folder, in place and in its own worktree", async (context) => {
    await needsWall(context, "bubblewrap");
    const made = await withAgent();
    await mkdir(join(made.workdir, "pkg"));
    await writeFile(join(made.workdir, "pkg", "p.txt"), "p\n");
    git(made.workdir, "add", ".");
    git(made.workdir, "commit", "-qm", "package");
    const linked = join(made.root, "linked");
    git(made.workdir, "worktree", "add", "-q", linked, "-b", "side");
    const folders = [
      { name: "linked", workdir: linked, top: linked, branch: "refs/heads/side" },
      { name: "pkg", workdir: join(made.workdir, "pkg"), top: made.workdir, branch: "refs/heads/main" },
    ];
    for (const { name, workdir, top, branch } of folders) {
      const script = (subject: string) =>
        `${identity}; echo ${subject} >> c.txt; git add c.txt; git commit -qm ${subject}`;
      const inplace = await run(made, { prompt: script(`in-${name}`), workdir });
      expect(inplace.result.git_changes).toMatchObject([{ name: branch, outcome: "moved" }]);
      expect([git(top, "log", "-1", "--format=%s"), git(top, "status", "--short")]).toEqual([`in-${name}\n`, ""]);
      const { result } = await run(made, { prompt: script(`own-${name}`), workdir, workspace: "worktree" });
      const { kept_commit } = await made.host.workspaces.apply(result.session_id);
      expect(git(top, "log", "-2", "--format=%s", kept_commit!)).toBe(`own-${name}\nin-${name}\n`);
      expect(git(top, "status", "--short")).toBe(` M ${name === "pkg" ? "pkg/" : ""}c.txt\n`);
    }
  });

  test("leaves nothing behind where it did nothing with git", async (context) => {
    await needsWall(context, "bubblewrap");
    const made = await withAgent();
    const { result, events } = await run(made, { prompt: "git status; git log" });
    expect(result.git_changes).toBeUndefined();
    expect(events.some(({ event }) => event.type === "git")).toBe(false);
    expect(git(made.workdir, "for-each-ref", "--format=%(refname)")).toBe("refs/heads/main\n");
    await made.host.close();
    const parts = await readdir(made.stateDir, { recursive: true });
    expect(parts.filter((name) => /(^|\/)git\/./.test(name))).toEqual([]);
    expect((await readdir(made.workdir)).sort()).toEqual([".git", "a.txt"]);
  });
});
