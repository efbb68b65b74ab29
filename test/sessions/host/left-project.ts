import { execFileSync } from "node:child_process";
import { access, mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import { afterEveryTest } from "../../clean-up.ts";
import { adapterCode, completed, openHost, type TestHost } from "./test-host.ts";

/** A repository, and a contained agent whose program is a shell. */
export interface LeftProject {
  project: string;
  test: TestHost;
  git(...args: string[]): string;
  /** Runs the agent's program to its end; `change` is called while it runs. */
  agent(script: string, workspace?: "inplace" | "worktree"): Promise<SessionResult>;
}

const roots: string[] = [];
afterEveryTest(async () => {
  for (const root of roots.splice(0)) await rm(root, { recursive: true, force: true, maxRetries: 3 });
});

const shell = adapterCode(`    const child = await ctx.run("sh", ["-c", request.prompt]);
    for await (const text of child.stdout) yield { type: "output", stream: "stdout", data: text };
    for await (const text of child.stderr) yield { type: "output", stream: "stderr", data: text };
    yield ${completed};`);

const permissions = `permissions:\n  run:\n    - { binary: sh, args: ["-c {*}"] }\n`;

export async function leftProject(): Promise<LeftProject> {
  // Agents have a /tmp of their own.
  const base = await access("/var/tmp").then(() => "/var/tmp", () => tmpdir());
  const root = await realpath(await mkdtemp(join(base, "bulkhead-left-")));
  roots.push(root);
  const project = join(root, "project");
  await mkdir(project);
  const git = (...args: string[]) => execFileSync("git", args, { cwd: project, encoding: "utf8", stdio: "pipe" });
  git("init", "-q", "-b", "main");
  git("config", "user.email", "a@b");
  git("config", "user.name", "a");
  const test = await openHost();
  await test.add("agent", { code: shell, manifest: permissions, type: "agent" }, {
    grant: { run: [{ binary: "sh" }] },
  });
  return {
    project,
    test,
    git,
    agent: async (script, workspace = "inplace") => {
      // Change times are in whole seconds on one of the runtimes.
      await pause("Deno" in globalThis ? 1100 : 20);
      const session = await test.host.runSession({ workdir: project, prompt: script, workspace, retry: "never" }, {
        adapter: "agent",
      });
      return await session.result();
    },
  };
}
