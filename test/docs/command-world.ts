import { execFileSync } from "node:child_process";
import { cp, mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createHost, type HostManifest, loadHostManifest } from "bulkhead";
import { runCli } from "../../core/doors/cli/run-cli.ts";
import { type Daemon, startDaemon } from "../../core/doors/daemon/daemon.ts";
import { fakeTerminal } from "../doors/cli/fake-terminal.ts";
import { adapterCode, writePlugin } from "../sessions/host/test-host.ts";

/** Result of a command that was run. */
export interface RunCommand {
  code: number;
  out: string;
  err: string;
}

/** A person's machine, in folders of a test: the same again for each command. */
export interface CommandWorld extends AsyncDisposable {
  /** Runs a command in the project: in a world where nothing has happened since it was made, or after the last command. */
  run(words: readonly string[], options?: { again?: boolean }): Promise<RunCommand>;
  /** Starts a daemon in the world as it was made. */
  startDaemon(): Promise<Daemon>;
}

/** Beginning of the session's id that documents take as their example. */
export const exampleSession = "3f2a";

/** Makes a project with agents and an ended session in a worktree, whose id begins with {@link exampleSession}. */
export async function openCommandWorld(): Promise<CommandWorld> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-world-")));
  const [here, kept] = [join(root, "here"), join(root, "kept")];
  const project = join(here, "project");
  const before = process.env["HOME"];
  process.env["HOME"] = join(here, "home");
  const leave = async () => {
    process.env["HOME"] = before;
    await rm(root, { recursive: true, force: true, maxRetries: 3 });
  };
  try {
    await writeProject(project);
    await mkdir(join(here, "home"));
    await runCli(fakeTerminal({ args: ["plugin", "new", "my-plugin"], cwd: project }));
    await runExample(project);
    await cp(here, kept, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
  } catch (error) {
    await leave();
    throw error;
  }
  const renew = async () => {
    await rm(here, { recursive: true, force: true, maxRetries: 3 });
    await cp(kept, here, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
  };
  return {
    async startDaemon() {
      await renew();
      const readManifest = async () => await manifestOf(project);
      return await startDaemon({ createHost, readManifest, root: project, port: 0 });
    },
    async run(words, { again = true } = {}) {
      if (again) await renew();
      const terminal = fakeTerminal({ args: [...words], cwd: project, stdin: "a-secret-value" });
      const code = await runCli(terminal);
      return { code, out: terminal.out(), err: terminal.err() };
    },
    [Symbol.asyncDispose]: leave,
  };
}

/** A repository with plugins, and with the files that commands take. */
async function writeProject(project: string): Promise<void> {
  const agent = {
    manifest: `capabilities: { code_review: true }
accepts: [continue_from, continue_at, fork, effort, model, images, files]
reports: [cost, tokens, turns, permissions]
access_modes:
  - type: api
    enabled: true
    model: m
    max_tokens: 1000
    pricing: { input_per_1k_tokens: 1, output_per_1k_tokens: 1, currency: USD }
config:
  type: object
  properties: { tone: { type: string }, sandbox: { type: string }, report: { type: string } }
permissions:
  read: [workdir]
  write: [workdir, "workdir:package.json"]
  net: ["api.example.com:443", "example.com:443"]
  run: [{ binary: git, args: [push] }]`,
    code: adapterCode(`    yield { type: "agent_info", agent_session_id: "native-1" };
    await ctx.fs.writeText("a.txt", request.prompt + "\\n");
    const data = /Signal completion with (\\S+)/.exec(request.prompt)?.[1] ?? "Done.";
    yield { type: "output", stream: "stdout", data };
    yield { type: "completed", success: true, files_changed: [], output: data, tokens_used: 10, cost: 0.01 };`),
  };
  for (const id of ["my-agent", "other-agent", "greeter"]) {
    await writePlugin(join(project, "plugins", id), id, { ...agent, type: "agent" });
  }
  const files: Record<string, string> = {
    "bulkhead.yaml": `bulkhead: 1
plugins:
  my-agent: { grant: { write: [workdir] } }
  other-agent: { grant: { write: [workdir] } }
  greeter: { grant: { read: [workdir], write: [workdir] } }
  replay: { grant: { read: [plugin, workdir], write: [workdir] } }
  copilot: { source: acp, enabled: false, config: { agent: copilot } }
`,
    "ops/bulkhead.yaml": "bulkhead: 1\n",
    "a.txt": "before\n",
    "task.md": "Do it.\n",
    "checkout/b.txt": "b\n",
    ".gitignore": "ops\n",
  };
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(project, path, ".."), { recursive: true });
    await writeFile(join(project, path), text);
  }
  await writeFile(join(project, "sketch.png"), png);
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@localhost", "-C", project, ...args]);
  git("init", "-q", "-b", "main");
  git("add", ".");
  git("commit", "-qm", "first");
}

const png = Uint8Array.from(
  atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="),
  (one) => one.charCodeAt(0),
);

async function manifestOf(project: string): Promise<HostManifest | undefined> {
  return await loadHostManifest({ config: join(project, "bulkhead.yaml"), from: project }) ?? undefined;
}

async function runExample(project: string): Promise<void> {
  const host = await createHost({ root: project, manifest: await manifestOf(project) });
  try {
    const asked = { workdir: project, prompt: "Fix it", workspace: "worktree" as const, checkpoints: true };
    const session = await host.sessions.start(asked, {
      adapter: "my-agent",
      sessionId: exampleSession.padEnd(32, "0"),
    });
    await session.result();
    // Turns 2 and 3, as documents speak of them.
    for (const text of ["And the tests?", "And the pages?"]) {
      const said = await host.sessions.conversations.say(session.id, { content: [{ type: "text", text }] });
      await (await host.sessions.open(said.session_id)).result();
    }
  } finally {
    await host.close();
  }
}
