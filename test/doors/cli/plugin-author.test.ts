import { execFileSync } from "node:child_process";
import { mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import { type FakeTerminal, fakeTerminal, type FakeTerminalOptions } from "./fake-terminal.ts";

let folder: string;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-author-")));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function plugin(args: string[], options: FakeTerminalOptions = {}): Promise<FakeTerminal & { code: number }> {
  const terminal = fakeTerminal({ args: ["plugin", ...args], cwd: folder, ...options });
  const code = await runCli(terminal);
  return Object.assign(terminal, { code });
}

describe("plugin new", () => {
  test("asks a person what it will drive, and for the program", async () => {
    const { code, err, out } = await plugin(["new", "My tool"], { tty: true, stdin: "cli\nmy-tool --fast\n" });
    expect(code).toBe(0);
    expect(err()).toContain("What will it drive?");
    expect(out()).toContain("Wrote the plugin my-tool");
    const yaml = await readFile(join(folder, "my-tool", "plugin.yaml"), "utf8");
    expect(yaml).toContain('binary: "my-tool"');
    expect(yaml).toContain('command_template: "{binary} --fast < {prompt_file}"');
  });

  test("asks nothing with --yes, and writes nothing when a question is not answered", async () => {
    expect((await plugin(["new", "Mine", "--yes"], { tty: true })).err()).toBe("");
    expect(await readdir(join(folder, "mine"))).toContain("mod.ts");
    const { code } = await plugin(["new", "Other", "--template", "nonsense"]);
    expect(code).not.toBe(0);
    expect(await readdir(folder)).toEqual(["mine"]);
  });
});

describe("plugin test", () => {
  test("says which rule is broken, where, and exits with 1", async () => {
    await plugin(["new", "Mine", "--yes"]);
    const file = join(folder, "mine", "mod.ts");
    const source = await readFile(file, "utf8");
    await writeFile(file, source.replace('version = "0.1.0"', 'version = "0.2.0"'));
    const people = await plugin(["test", "mine"]);
    expect(people.code).toBe(1);
    expect(people.out()).toContain("FAIL  identity");
    expect(people.out()).toContain("behind a process wall, on ");
    expect(people.out()).toContain(`DRIFT: version is "0.1.0" in plugin.yaml and "0.2.0" in the adapter.`);
    const { code, out } = await plugin(["test", "mine", "--json"]);
    expect(code).toBe(1);
    expect(JSON.parse(out())).toMatchObject({
      conformance: 1,
      plugin_id: "mine",
      version: "0.1.0",
      passed: false,
      isolation: "process",
    });
  }, 120_000);

  test("check, dev and pack say where code and manifest differ", async () => {
    await plugin(["new", "Mine", "--yes"]);
    const file = join(folder, "mine", "mod.ts");
    await writeFile(file, (await readFile(file, "utf8")).replace('id = "mine"', 'id = "yours"'));
    const drift = 'id is "mine" in plugin.yaml and "yours" in the adapter.';
    const check = await plugin(["check", "mine"]);
    expect([check.code, check.out()]).toEqual([2, expect.stringContaining(drift)]);
    const dev = await plugin(["dev", "mine", "--once"]);
    expect([dev.code, dev.err()]).toEqual([0, expect.stringContaining(`warning: ${drift}`)]);
    const pack = await plugin(["pack", "mine"]);
    expect([pack.code, pack.err()]).toEqual([2, expect.stringContaining(drift)]);
    expect(await readdir(folder)).toEqual(["mine"]);
  }, 120_000);

  test("dev ends with the exit code of a manifest that is wrong, as check does", async () => {
    await plugin(["new", "Mine", "--yes"]);
    const file = join(folder, "mine", "plugin.yaml");
    await writeFile(file, (await readFile(file, "utf8")).replace("version: 0.1.0", "version: 0.1"));
    const dev = await plugin(["dev", "mine", "--once"]);
    expect([dev.code, dev.err()]).toEqual([
      2,
      expect.stringContaining("version: expected a version such as 0.1.0, found number 0.1"),
    ]);
  });

  test("check marks a tool that is not granted as a note, not as done", async () => {
    await plugin(["new", "Tool", "--yes", "--template", "cli", "--command", "echo {prompt}"]);
    const { code, out } = await plugin(["check", "tool"]);
    expect(code).toBe(0);
    expect(out()).toMatch(/✔ load .*\n {2}! agent +unrunnable: .*\n.*bulkhead plugin grant tool 'run:echo \{\*\}'/);
  });

  test("does not wait for a package.json that is a pipe", async () => {
    await plugin(["new", "Mine", "--yes"]);
    await rm(join(folder, "mine", "package.json"));
    execFileSync("mkfifo", [join(folder, "mine", "package.json")]);
    const { code, out } = await plugin(["test", "mine"]);
    expect(code).toBe(1);
    expect(out()).toContain("package.json is no JSON object.");
  }, 120_000);

  test("reports a manifest that cannot be read as a broken rule", async () => {
    await plugin(["new", "Mine", "--yes"]);
    await writeFile(join(folder, "mine", "conformance.yaml"), "conformance: 1\nsession: []\n");
    const { code, out } = await plugin(["test", "mine"]);
    expect(code).toBe(1);
    expect(out()).toContain("conformance.yaml:2:1 session");
  });
});

describe("plugin pack", () => {
  test("writes the tarball, and with --unpacked what is in it", async () => {
    await plugin(["new", "Mine", "--yes"]);
    const { code, out } = await plugin(["pack", "mine", "--out", "made", "--unpacked", "laid-out", "--json"]);
    expect(code).toBe(0);
    const report = JSON.parse(out());
    expect(report).toMatchObject({ plugin_id: "mine", name: "bulkhead-plugin-mine", version: "0.1.0" });
    expect(report.sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(await readdir(join(folder, "made"))).toEqual(["bulkhead-plugin-mine-0.1.0.tgz"]);
    expect(await readdir(join(folder, "laid-out"))).toEqual(
      report.files.map(({ path }: { path: string }) => path).sort(),
    );
  });

  test("says what it left out because it holds secrets", async () => {
    await plugin(["new", "Mine", "--yes"]);
    const file = join(folder, "mine", "package.json");
    await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, "utf8")), files: ["."] }));
    await writeFile(join(folder, "mine", ".env"), "TOKEN=secret\n");
    expect((await plugin(["pack", "mine"])).out()).toContain("left out: .env, which holds secrets\n");
    const report = JSON.parse((await plugin(["pack", "mine", "--json"])).out());
    expect(report).toMatchObject({ left_out: [".env"] });
    expect(report.files.map(({ path }: { path: string }) => path)).not.toContain(".env");
  });
});
