import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
// Loaded here, so that no test's time is spent on it.
import "../../../core/doors/cli/commands/setup.ts";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import { parseHostManifest } from "../../../core/ground/config/parse-host-manifest.ts";
import { setAgentOrder } from "../../../core/packages/manifest/edit-plugin-entry.ts";
import "../../../core/sessions/host/create-host.ts";
import { brokenLines } from "./broken-lines.ts";
import { type FakeTerminal, fakeTerminal, type FakeTerminalOptions } from "./fake-terminal.ts";

const standIn = fileURLToPath(new URL("../../plugins/stand-in-program.mjs", import.meta.url));
const recorded = fileURLToPath(new URL("../../fixtures/codex", import.meta.url));
const before = { ...process.env };
const names = [
  "PATH",
  "HOME",
  "ANTHROPIC_API_KEY",
  "OPENAI_API_KEY",
  "GEMINI_API_KEY",
  "CODEX_API_KEY",
  "ANTHROPIC_BASE_URL",
  "XDG_CONFIG_HOME",
  "OPENCODE_CONFIG",
];

let root: string;
let folder: string;
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-setup-")));
  folder = join(root, "project");
  for (const name of ["project", "home", "bin", "calls"]) await mkdir(join(root, name));
  for (const name of names) delete process.env[name];
  process.env["HOME"] = join(root, "home");
  // Programs of the system, but none of an agent that the person at this machine may have.
  process.env["PATH"] = `${join(root, "bin")}:${dirname(process.execPath)}:/usr/bin:/bin`;
});
afterEach(async () => {
  for (const name of names) {
    if (before[name] === undefined) delete process.env[name];
    else process.env[name] = before[name];
  }
  await rm(root, { recursive: true, force: true });
});

/** Drives one of several agents, as an option says. */
const several = `import { defineAdapter } from "bulkhead/plugin-sdk";
let which;
export default defineAdapter({
  id: "several", name: "Several", version: "1.0.0",
  initialize({ custom }) { which = custom.which; },
  async *runSession() {
    yield { type: "output", stream: "stdout", data: "I am " + which + "." };
    yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };
  },
});
`;
const severalManifest = `manifest: 1
id: several
name: Several
version: 1.0.0
description: Made by a test.
license: MIT
host: ^1.0.0
adapter_type: agent
entry: ./mod.js
capabilities: {}
permissions:
  read: [workdir]
permissions_for:
  which:
    one: { run: [{ binary: program-one }] }
    two: { run: [{ binary: program-two }] }
config:
  type: object
  properties:
    which: { type: string, enum: [one, two] }
  required: [which]
`;

const unchanged = "bulkhead: 1\nos_walls: { agents: off }\n";

/** Puts programs on the PATH that print a version. */
async function installOthers(...programs: string[]): Promise<void> {
  for (const name of programs) {
    await writeFile(join(root, "bin", name), "#!/bin/sh\necho 0.1.0\n");
    await chmod(join(root, "bin", name), 0o755);
  }
}

/** Puts a program on the PATH that stands in for Codex. It lies in a folder that no walls would show. */
async function installCodex(): Promise<void> {
  await writeFile(join(folder, "bulkhead.yaml"), unchanged);
  const prefix = "Deno" in globalThis ? ["run", "-A", "--no-prompt"] : [];
  const words = [process.execPath, ...prefix, standIn, join(root, "calls"), recorded].map((word) => `'${word}'`);
  const file = join(root, "bin", "codex");
  await writeFile(file, `#!/bin/sh\nexec ${words.join(" ")} "$@"\n`);
  await chmod(file, 0o755);
}

async function setup(args: string[], options: FakeTerminalOptions = {}): Promise<FakeTerminal & { code: number }> {
  const stateDir = join(root, "state");
  const terminal = fakeTerminal({ args: ["setup", "--state-dir", stateDir, ...args], cwd: folder, ...options });
  return Object.assign(terminal, { code: await runCli(terminal) });
}

describe("bulkhead setup", () => {
  test("unattended: enables and grants what was named, pins its program, and runs a first session", async () => {
    await installCodex();
    const { code, out } = await setup(["--yes", "--agents", "codex", "--json"]);
    expect(JSON.parse(out())).toMatchObject({
      file: join(folder, "bulkhead.yaml"),
      found: [{ id: "codex", availability: "available", program: join(root, "bin", "codex") }],
      enabled: ["codex"],
      pinned: [{ plugin_id: "codex", binary: "codex", path: join(root, "bin", "codex") }],
      hello: { outcome: "completed" },
    });
    expect(code).toBe(0);
    const manifest = parseHostManifest(await readFile(join(folder, "bulkhead.yaml"), "utf8"), {
      file: "bulkhead.yaml",
    });
    expect(manifest.plugins["codex"]).toMatchObject({
      enabled: true,
      grant: { run: [{ binary: "codex" }] },
    });
    expect(manifest.routing.agent).toEqual(["codex"]);
  });

  test("says why a program that is here cannot be used", async () => {
    await installCodex();
    await writeFile(join(root, "bin", "codex"), "#!/bin/sh\necho 'a library is missing' >&2\nexit 1\n");
    const { out } = await setup([], { tty: true, stdin: "none\n" });
    expect(out().replace(/\s+/g, " ")).toMatch(/\[ \] 1 codex unrunnable .*bin\/codex · .*a library is missing/);
    expect(JSON.parse((await setup(["--yes", "--json"])).out())).toMatchObject({
      found: [{ id: "codex", availability: "unrunnable", reason: expect.stringContaining("a library is missing") }],
    });
  });

  test("asks a person which ones, shows what they may do, and writes nothing without consent", async () => {
    await installCodex();
    process.env["OPENAI_API_KEY"] = "sk-test-0123456789";
    const refused = await setup(["--no-hello"], { tty: true, stdin: "nonsense\ncodex\nn\n" });
    expect(refused.code).toBe(0);
    expect(refused.out()).toMatch(/\[x\] 1 +codex .*available/);
    expect(refused.out()).toMatch(/\[ \] 2 +openai-compatible .*\$OPENAI_API_KEY is set/);
    expect(refused.out()).toContain("→ printenv OPENAI_API_KEY | bulkhead secret set OPENAI_API_KEY");
    expect(refused.out()).toMatch(/Not on this machine:\n {2}claude-code +npm install -g @anthropic-ai\/claude-code\n/);
    expect(refused.err()).toContain('Cannot set up "nonsense": it was not found here.');
    expect(refused.out().replace(/\s+/g, " ")).toMatch(
      /start "codex" \(.*codex\), with the commands that its manifest lists: amounts to/,
    );
    expect(refused.out()).toContain("Nothing was written.");
    expect(await readFile(join(folder, "bulkhead.yaml"), "utf8")).toBe(unchanged);

    vi.stubEnv("BULKHEAD_COMMAND", "npx bulkhead");
    const agreed = await setup(["--no-hello"], { tty: true, stdin: "\ny\nn\n" }).finally(() => vi.unstubAllEnvs());
    expect(agreed.code).toBe(0);
    expect(agreed.out()).toContain("  npx bulkhead run codex ");
    // No shell finds that name, nor does an editor: it starts the server by a path.
    expect(agreed.out()).toContain(`{"mcpServers":{"bulkhead":{"command":${JSON.stringify(process.execPath)},"args":[`);
    expect(agreed.err()).toContain("Start the daemon now?");
    expect(await readdir(folder)).toContain("bulkhead.yaml");
  });

  test.each([50, 80])("breaks no word in a terminal of %i columns", async (columns) => {
    const none = await setup([], { tty: true, columns });
    expect(brokenLines(none.out() + none.err(), columns)).toEqual([]);
    await installCodex();
    process.env["OPENAI_API_KEY"] = "sk-test-0123456789";
    process.env["ANTHROPIC_BASE_URL"] = "https://gateway.example.com/claude";
    await installOthers("claude", "opencode");
    const { code, out, err } = await setup([], { tty: true, columns, stdin: "codex opencode\ny\nn\n" });
    expect(code).toBe(0);
    expect(out()).toContain("completed");
    expect(brokenLines(out() + err(), columns)).toEqual([]);
  });

  test("grants the hosts that variables and the agent's own settings point it to, and says where they stand", async () => {
    await installCodex();
    await writeFile(join(root, "bin", "claude"), "#!/bin/sh\necho 2.1.330\n");
    await chmod(join(root, "bin", "claude"), 0o755);
    await mkdir(join(root, "home", ".codex"));
    const settings = `base_url = "http://localhost:4321/v1"\nother = "http://127.0.0.1.example.com"\n`;
    await writeFile(join(root, "home", ".codex", "config.toml"), settings);
    await installOthers("pi");
    await mkdir(join(root, "home", ".pi", "agent", "sessions"), { recursive: true });
    await writeFile(join(root, "home", ".pi", "agent", "models.json"), '{"baseUrl":"http://127.0.0.1:4322/v1"}');
    await writeFile(join(root, "home", ".pi", "agent", "sessions", "one.json"), '{"said":"http://localhost:4323"}');
    await installOthers("opencode");
    await writeFile(
      join(root, "elsewhere.json"),
      '{"provider":{"own":{"options":{"baseURL":"http://127.0.0.1:4324/v1"}}}}',
    );
    process.env["OPENCODE_CONFIG"] = join(root, "elsewhere.json");
    process.env["ANTHROPIC_BASE_URL"] = "https://gateway.example.com/claude";
    const { code, out } = await setup(["--no-hello"], { tty: true, stdin: "codex claude-code pi opencode\ny\nn\n" });
    expect(code).toBe(0);
    expect(out()).toContain("~/.codex/config.toml points it to localhost:4321");
    expect(out()).toContain("~/.pi/agent/models.json points it to 127.0.0.1:4322");
    expect(out()).not.toContain("4323");
    expect(out()).toContain("$OPENCODE_CONFIG points it to 127.0.0.1:4324");
    expect(out()).toContain("$ANTHROPIC_BASE_URL points it to gateway.example.com:443");
    const file = join(folder, "bulkhead.yaml");
    const { plugins } = parseHostManifest(await readFile(file, "utf8"), { file });
    expect(plugins["codex"]?.grant.net).toContain("localhost:4321");
    expect(plugins["codex"]?.grant.net?.join()).not.toContain("example.com");
    expect(plugins["opencode"]?.grant.net).toContain("127.0.0.1:4324");
    expect(plugins["claude-code"]?.grant.net).toContain("gateway.example.com:443");
  });

  test("offers an instance for each program that a plugin starts by an option and no other plugin starts", async () => {
    await writeFile(join(folder, "bulkhead.yaml"), unchanged);
    for (const name of ["copilot", "gemini", "program-two"]) {
      await writeFile(join(root, "bin", name), "#!/bin/sh\nexit 1\n");
      await chmod(join(root, "bin", name), 0o755);
    }
    await mkdir(join(folder, "plugins", "several"), { recursive: true });
    await writeFile(join(folder, "plugins", "several", "mod.js"), several);
    await writeFile(join(folder, "plugins", "several", "plugin.yaml"), severalManifest);
    const { code, out } = await setup(["--yes", "--agents", "two", "--json"]);
    const report = JSON.parse(out());
    expect(report.found.map(({ id }: { id: string }) => id)).toEqual(["gemini-cli", "copilot", "two"]);
    expect(report).toMatchObject({ enabled: ["two"], hello: { outcome: "completed", output: "I am two." } });
    expect(code).toBe(0);
    const file = join(folder, "bulkhead.yaml");
    const manifest = parseHostManifest(await readFile(file, "utf8"), { file });
    expect(manifest.plugins).toMatchObject({
      two: { source: "several", enabled: true, config: { which: "two" }, grant: { run: [{ binary: "program-two" }] } },
    });
    expect(Object.keys(manifest.plugins["two"]?.grant ?? {})).toEqual(["run"]);
    const again = JSON.parse((await setup(["--yes", "--agents", "two", "--no-hello", "--json"])).out());
    expect(again.found.map(({ id }: { id: string }) => id)).toEqual(["gemini-cli", "two", "copilot"]);
    expect(parseHostManifest(await readFile(file, "utf8"), { file }).plugins).toEqual(manifest.plugins);
  });

  test("asks a person for which projects it is, and writes one file there, without a schema", async () => {
    await installOthers("pi");
    const own = join(root, "home", ".config", "bulkhead", "bulkhead.yaml");
    const refused = await setup(["--no-hello"], { tty: true, stdin: "pi\n" });
    expect(refused.out()).toContain("Nothing was written.");
    expect(refused.err()).toContain(`For which projects?\n  all   ${own}\n  this  ${join(folder, "bulkhead.yaml")}\n`);
    const all = await setup(["--no-hello"], { tty: true, stdin: "pi\na\ny\nn\n" });
    expect(all.err()).toContain("Enable them and grant all of this, for all of your projects?");
    expect(all.out()).toContain(`Wrote ${own}, for all of your projects.\n`);
    expect(all.code).toBe(0);
    expect([await readdir(dirname(own)), await readdir(folder)]).toEqual([["bulkhead.yaml"], []]);
    expect(await readFile(own, "utf8")).not.toContain("schema");

    // It counts here now, so that no one is asked again.
    const again = await setup(["--no-hello"], { tty: true, stdin: "pi\ny\nn\n" });
    expect(again.out()).toContain(`Wrote ${own}, for all of your projects.\n`);
    const one = await setup(["--no-hello", "--for", "this"], { tty: true, stdin: "pi\ny\nn\n" });
    expect(one.err()).not.toContain("For which projects?");
    expect(one.out()).toContain(`In this project ${join(folder, "bulkhead.yaml")} counts, and ${own} does not.`);
    expect(await readdir(folder)).toEqual(["bulkhead.yaml"]);
  }, 60_000);

  test("a script names the projects; without a word it is this one, which is said", async () => {
    await installOthers("pi");
    const file = join(folder, "bulkhead.yaml");
    const unsaid = await setup(["--yes", "--agents", "pi", "--no-hello"]);
    expect(unsaid.out()).toContain(`Wrote ${file}, for this project alone.\n`);
    const report = JSON.parse((await setup(["--yes", "--agents", "pi", "--no-hello", "--for", "all", "--json"])).out());
    const own = join(root, "home", ".config", "bulkhead", "bulkhead.yaml");
    expect(report).toMatchObject({
      file: own,
      for: "all",
      enabled: ["pi"],
      warnings: expect.arrayContaining([`In this project ${file} counts, and ${own} does not.`]),
    });
    const both = await setup(["--yes", "--for", "all", "--config", file]);
    expect([both.code, both.err()]).toEqual([2, expect.stringContaining("Cannot use --for with --config")]);
  }, 60_000);

  test("run again it keeps the order in which agents are tried, and says it", async () => {
    await installOthers("pi", "gemini");
    const file = join(folder, "bulkhead.yaml");
    const orders = [
      ["[gemini-cli, other, auto]", "gemini-cli,pi", ["gemini-cli", "other", "pi", "auto"]],
      ["gemini-cli", "pi,gemini-cli", ["gemini-cli", "pi"]],
      ["[gemini-cli, pi]", "pi", ["gemini-cli", "pi"]],
      ["auto", "pi,gemini-cli", ["pi", "gemini-cli"]],
    ] as const;
    for (const [before, agents, after] of orders) {
      await writeFile(file, `${unchanged}routing: { agent: ${before} }\n`);
      const { out } = await setup(["--yes", "--agents", agents, "--no-hello"]);
      expect(parseHostManifest(await readFile(file, "utf8"), { file }).routing.agent).toEqual(after);
      expect(out()).toContain(`Sessions that name no agent try ${after.join(", then ")}.\n`);
    }
  }, 60_000);

  test("a pipe is told which flags it needs, an unknown id what was found, a bare machine where to look", async () => {
    const none = await setup([]);
    expect(none.code).toBe(0);
    expect(none.out()).toContain("No agent was found");
    await installCodex();
    const piped = await setup([]);
    expect(piped.code).not.toBe(0);
    expect(piped.err()).toContain("bulkhead setup --yes --agents codex");
    const unknown = await setup(["--yes", "--agents", "gemini-cli"]);
    expect(unknown.code).not.toBe(0);
    expect(unknown.err()).toContain("Install it: npm install -g @google/gemini-cli. Found: codex.");
    expect((await setup(["--yes", "--agents", "codx"])).err()).toContain('Did you mean "codex"? Found: codex.');
    expect(await readFile(join(folder, "bulkhead.yaml"), "utf8")).toBe(unchanged);
  });
});

test("setAgentOrder() keeps comments, and what the file says of plugins", () => {
  const text = "bulkhead: 1 # one\nplugins: { a: {} }\nrouting:\n  # who\n  agent: auto\n  require: {}\n";
  const after = setAgentOrder(text, { ids: ["b", "a"], file: "bulkhead.yaml" });
  expect(after).toContain("bulkhead: 1 # one");
  expect(after).toContain("# who");
  expect(parseHostManifest(after, { file: "bulkhead.yaml" })).toMatchObject({
    plugins: { a: {} },
    routing: { agent: ["b", "a"] },
  });
});
