import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { finalResult, readEvents } from "../../../core/doors/client/mod.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const onDeno = "Deno" in globalThis;
const program = onDeno ? ["run", "-A", join(root, "core/doors/cli/main.ts")] : [join(root, "dist/bundle/cli.js")];

let home = "";
let cwd = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "bulkhead-e2e-"));
  cwd = join(home, "repository");
  await mkdir(cwd);
  execFileSync("git", ["init", "--quiet"], { cwd });
  await writeFile(join(cwd, "a.js"), "one\ntwo\n");
  await writeFile(
    join(cwd, "bulkhead.yaml"),
    [
      "bulkhead: 1",
      "plugins:",
      "  repo-census:",
      "    grant:",
      '      run: ["@runtime"]',
      "  replay: {}",
      "",
    ].join("\n"),
  );
});
afterEach(() => rm(home, { recursive: true, maxRetries: 3 }));

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

function start(...args: string[]): ChildProcess {
  const { PATH = "", HOME = "", DENO_DIR } = process.env;
  return spawn(process.execPath, [...program, ...args, "--state-dir", join(home, "state")], {
    cwd,
    // The runtime's own cache stays where it is; everything of ours goes to the test's folder.
    env: {
      PATH,
      HOME,
      XDG_CONFIG_HOME: home,
      XDG_DATA_HOME: home,
      // Hints name the program as an installed one, on Deno too.
      BULKHEAD_COMMAND: "bulkhead",
      ...(DENO_DIR === undefined ? {} : { DENO_DIR }),
    },
    stdio: ["pipe", "pipe", "pipe"],
  });
}

async function ended(child: ChildProcess, stdin = ""): Promise<Ended> {
  const texts = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (text: string) => (texts[name] += text));
  }
  child.stdin?.on("error", () => {});
  child.stdin?.end(stdin);
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, ...texts };
}

function cli(...args: string[]): Promise<Ended> {
  return ended(start(...args));
}

test("bulkhead --help and --version answer without a host", async () => {
  expect(await cli("--version")).toMatchObject({ code: 0, stderr: "" });
  expect(await cli("run", "--help")).toMatchObject({
    code: 0,
    stderr: "",
    stdout: expect.stringContaining("Examples:"),
  });
});

test("bulkhead run says how to enable an adapter that is not, and what to do where none is", async () => {
  expect(await cli("run", "codex", "hello")).toEqual({
    code: 5,
    stdout: "",
    stderr: 'error: No enabled adapter has the id "codex".\n  bulkhead plugin enable codex\n',
  });
  await writeFile(join(cwd, "bulkhead.yaml"), "bulkhead: 1\n");
  expect(await cli("run", "hello")).toEqual({
    code: 5,
    stdout: "",
    stderr: expect.stringMatching(/^error: No adapter is enabled\.\n {2}Find the agents .*: bulkhead setup\.\n/),
  });
}, 60_000);

test("bulkhead demo passes all its checks", async () => {
  const { code, stdout, stderr } = await cli("demo");
  expect({ code, stderr, failed: stdout.split("\n").filter((line) => line.includes("FAIL")) })
    .toEqual({ code: 0, stderr: "", failed: [] });
  expect(stdout.match(/ PASS {2}/g)).toHaveLength(9);
  expect(stdout).toContain("memory-hog   ✘ error · crash");
}, 60_000);

test("bulkhead demo --json prints envelopes and a summary last", async () => {
  const { code, stdout } = await cli("demo", "--json");
  const lines = stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
  expect(code).toBe(0);
  expect(lines.pop()).toMatchObject({ demo: { passed: true, results: [{ outcome: "completed" }, {}, {}] } });
  expect(lines.filter(({ event }: Envelope) => event.type === "session_ended")).toHaveLength(3);
}, 60_000);

test("bulkhead run drives a tool that is defined in YAML alone", async () => {
  const { code, stdout, stderr } = await cli("run", "repo-census", "Count.", "--param", "report=REPORT.md");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/✔ completed · end_turn/);
  expect(stdout).toMatch(/created +REPORT\.md/);
  expect(await readFile(join(cwd, "REPORT.md"), "utf8")).toContain("| JavaScript | 1 | 2 |");
});

test(
  "bulkhead plugin grant settles where a program is, plugin explain shows it, and only a new grant moves it",
  async () => {
    const bin = join(home, "bin");
    await mkdir(bin);
    for (const name of ["first", "second"]) {
      await writeFile(join(home, name), `#!/bin/sh\ncat >/dev/null\necho ${name}`, { mode: 0o755 });
    }
    const link = join(bin, "tool");
    await symlink(join(home, "first"), link);
    await writeFile(
      join(cwd, "bulkhead.yaml"),
      `bulkhead: 1\ntools:\n  shout: { binary: ${link}, command_template: "{binary} < {prompt_file}" }\n`,
    );
    const granted = await cli("plugin", "grant", "shout", `run:${link}`);
    expect(granted).toMatchObject({ code: 0, stderr: "" });
    expect(granted.stdout).toContain(`Pinned: ${link} is ${link} (${join(home, "first")}).\n`);
    expect(await cli("run", "shout", "Hi.")).toMatchObject({ code: 0, stdout: expect.stringContaining("first") });

    await rm(link);
    await symlink(join(home, "second"), link);
    const refused = await cli("run", "shout", "Hi.");
    expect(refused.code).toBe(4);
    expect(refused.stderr + refused.stdout).toContain(`bulkhead plugin grant shout run:${link}`);
    const explained = await cli("plugin", "explain", "shout");
    expect(explained.stdout).toContain(`${link} is ${link} (${join(home, "first")}) since `);
    expect(explained.stdout).toContain(`; now ${join(home, "second")}\n`);

    const again = await cli("plugin", "grant", "shout", `run:${link}`, "--json");
    expect(JSON.parse(again.stdout)).toMatchObject({
      changed: false,
      pinned: { real: join(home, "second") },
      pinned_before: { real: join(home, "first") },
    });
    expect(await cli("run", "shout", "Hi.")).toMatchObject({ code: 0, stdout: expect.stringContaining("second") });
    const rows = (await cli("plugin", "explain", "shout", "--json")).stdout.trimEnd().split("\n");
    expect(rows.map((row) => JSON.parse(row)).find(({ permission }) => permission === "run")).toMatchObject({
      binary: link,
      pinned: { path: link, real: join(home, "second"), real_now: join(home, "second") },
    });
  },
  60_000,
);

test("bulkhead run --json can be read with bulkhead/client", async () => {
  const child = start("run", "repo-census", "--json");
  child.stdin?.end("Count.");
  const closed = new Promise((resolve) => child.once("close", resolve));
  const result = await finalResult(readEvents(child.stdout as AsyncIterable<Uint8Array>));
  expect(result).toMatchObject({ outcome: "completed", requested: { prompt: "Count." } });
  expect(await closed).toBe(0);
});

test("bulkhead run fails unattended with the command that grants what is missing, and then works", async () => {
  const denied = await cli("run", "replay", "Go.", "--quiet", "--param", "speed=0");
  expect(denied).toMatchObject({ code: 4, stdout: "" });
  const [, target] = /bulkhead plugin grant replay (\S+)/.exec(denied.stderr) ?? [];
  expect(target).toBe("read:plugin");
  for (const grant of [target ?? "", "write:workdir"]) {
    expect(await cli("plugin", "grant", "replay", grant)).toMatchObject({ code: 0 });
  }
  expect(await cli("run", "replay", "Go.", "--quiet", "--param", "speed=0"))
    .toEqual({ code: 0, stdout: "done\n", stderr: "" });
  expect(await readFile(join(cwd, "docs", "hello.txt"), "utf8")).toBe("hi\n");
});

test("bulkhead run ends gracefully on the first SIGINT", async () => {
  for (const grant of ["read:plugin", "read:workdir", "write:workdir"]) await cli("plugin", "grant", "replay", grant);
  const child = start("run", "replay", "Go.", "--json", "--param", "speed=0.01");
  child.stdin?.end();
  const closed = new Promise((resolve) => child.once("close", resolve));
  const types: string[] = [];
  let result: unknown;
  for await (const { event } of readEvents(child.stdout as AsyncIterable<Uint8Array>)) {
    types.push(event.type);
    // Deno's child.kill() reports the signal in place of the exit code, whatever the child makes of it.
    if (event.type === "attempt_started") process.kill(child.pid ?? 0, "SIGINT");
    if (event.type === "session_ended") result = event.result;
  }
  expect(types.at(-1)).toBe("session_ended");
  expect(result).toMatchObject({ outcome: "error", stop_reason: "interrupted" });
  expect(await closed).toBe(130);
});

test("bulkhead run ends quietly when the reader of its output goes away", async () => {
  const child = start("run", "repo-census", "Count.", "--json");
  child.stdin?.end();
  child.stdout?.once("data", () => child.stdout?.destroy());
  let stderr = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const code = await new Promise((resolve) => child.once("exit", resolve));
  // 0 when everything had been written before the reader left.
  expect([0, 141]).toContain(code);
  expect(stderr).toBe("");
});

test("bulkhead plugin check shows what is wrong with file, line and column", async () => {
  await mkdir(join(cwd, "bad"));
  await writeFile(join(cwd, "bad", "plugin.yaml"), "manifest: 1\nid: Bad Id\nname: 5\n");
  const { code, stdout } = await cli("plugin", "check", "./bad");
  expect(code).toBe(2);
  expect(stdout).toMatch(/plugin\.yaml:2:5 id:/);
  expect(stdout).toMatch(/plugin\.yaml:3:7 name:/);
  expect(await cli("plugin", "check", "repo-census")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("✔ load"),
  });
});

test("bulkhead plugin check loads a folder behind the walls and maps errors to the author's file", async () => {
  const folder = join(cwd, "mine");
  await mkdir(folder);
  await writeFile(
    join(folder, "plugin.yaml"),
    "manifest: 1\nid: mine\nname: Mine\nversion: 1.0.0\ndescription: Mine.\nlicense: MIT\nhost: ^1.0.0\n" +
      "adapter_type: tool\nentry: ./mod.ts\ncapabilities: {}\n",
  );
  await writeFile(join(folder, "mod.ts"), "const a: string = (;\n");
  const broken = await cli("plugin", "check", "mine");
  expect(broken.code).toBe(2);
  expect(broken.stdout).toMatch(/mod\.ts:1:\d+/);
  await writeFile(join(folder, "mod.ts"), "export default class {}\n");
  const incomplete = await cli("plugin", "check", "mine", "--json");
  expect(incomplete.code).toBe(2);
  expect(JSON.parse(incomplete.stdout)).toMatchObject({
    plugin_id: "mine",
    passed: false,
    steps: [
      { step: "manifest", passed: true },
      { step: "bundle", passed: true },
      {
        step: "load",
        passed: false,
        error: { code: "adapter_incomplete", message: expect.stringContaining("runSession") },
      },
    ],
  });
});

test("bulkhead doctor probes the agents that are enabled", async () => {
  const { code, stdout } = await cli("doctor", "--json");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    agents: [{ id: "repo-census", availability: "available" }, { id: "replay", availability: "available" }],
    problems: [],
  });
});
