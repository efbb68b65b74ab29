import { mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parse } from "yaml";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import { fakeTerminal } from "../../doors/cli/fake-terminal.ts";

let folder: string;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-record-")));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const manifest = `manifest: 1
id: talker
name: Talker
version: 1.0.0
description: Talks with a program.
license: MIT
host: ^1.0.0
adapter_type: tool
entry: ./mod.js
capabilities: {}
permissions:
  run: [{ binary: tee, args: [made.txt] }]
`;
const code = `import { defineAdapter } from "bulkhead/plugin-sdk";
export default defineAdapter({
  id: "talker", name: "Talker", version: "1.0.0",
  async *runSession({ prompt }, ctx) {
    const { stdin, stdout, exit, kill } = await ctx.run("tee", ["made.txt"], { stdin: "open" });
    ctx.signal.addEventListener("abort", () => void kill());
    let said = "";
    await stdin.write(prompt + "\\n");
    for await (const piece of stdout) {
      if (said === "") {
        await stdin.write("and more\\n");
        await stdin.close();
      }
      said += piece;
    }
    const { exit_code } = await exit;
    if (exit_code !== 0) throw new Error("The program ended with " + exit_code + ".");
    yield { type: "output", stream: "stdout", data: said };
    yield { type: "completed", success: true, output: said, files_changed: [], tokens_used: null, cost: null };
  },
});
`;

async function pluginTest(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const terminal = fakeTerminal({ args: ["plugin", "test", folder, ...args], cwd: folder });
  const exit = await runCli(terminal);
  return { code: exit, out: terminal.out(), err: terminal.err() };
}

test("plugin test --record writes what the real program said, and a trial plays it", async () => {
  await writeFile(join(folder, "plugin.yaml"), manifest);
  await writeFile(join(folder, "mod.js"), code);
  const { out, err } = await pluginTest("--record", "talks", "--prompt", "Hello", "--json");
  expect(err).toBe("");
  const report = JSON.parse(out);
  expect(report.recorded).toEqual({
    session: "talks",
    outcome: "completed",
    files: ["recordings/talks.txt", "conformance.yaml"],
    notes: [],
  });
  expect(report.rules.find(({ rule }: { rule: string }) => rule === "sessions")).toMatchObject({ outcome: "passed" });
  expect(parse(await readFile(join(folder, "conformance.yaml"), "utf8"))).toEqual({
    conformance: 1,
    sessions: [{ name: "talks", prompt: "Hello", expect: { outcome: "completed", output: "Hello\nand more" } }],
    programs: [{
      binary: "tee",
      answers: [{
        dialog: [{ reads: 1, stdout: "Hello\n" }, { reads: 1 }],
        stdout_file: "recordings/talks.txt",
        files: { "made.txt": "Hello\nand more\n" },
      }],
    }],
  });
  expect(await readFile(join(folder, "recordings", "talks.txt"), "utf8")).toBe("and more\n");
}, 120_000);

test("plugin test --record says why a session cannot be recorded, and writes nothing", async () => {
  await writeFile(join(folder, "plugin.yaml"), manifest.replaceAll("tee", "no-such-program"));
  await writeFile(join(folder, "mod.js"), code.replaceAll("tee", "no-such-program"));
  const { code: exit, err } = await pluginTest("--record", "talks");
  expect(exit).not.toBe(0);
  expect(err).toContain('Cannot record the session: Cannot run "no-such-program"');
  expect((await readdir(folder)).toSorted()).toEqual(["mod.js", "plugin.yaml"]);
  expect((await pluginTest("--prompt", "Hello")).err).toContain("Name the session: --record <session>");
}, 60_000);
