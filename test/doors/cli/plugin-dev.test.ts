import { mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { newPlugin } from "../../../core/kit/author/new-plugin.ts";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import { fakeTerminal } from "./fake-terminal.ts";

let folder: string;
let plugin: string;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-dev-")));
  plugin = join(folder, "mine");
  await newPlugin({ folder: plugin, template: "code", name: "Mine" });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Waits for a condition; many things are bundled and started before it holds. */
async function until(condition: () => boolean): Promise<void> {
  await expect.poll(condition, { timeout: 60_000, interval: 50 }).toBe(true);
}

describe("plugin dev", () => {
  test("runs again after each change, shows where it threw in the author's own file, and ends at Ctrl-C", async () => {
    const terminal = fakeTerminal({ args: ["plugin", "dev", "mine", "Good morning"], cwd: folder });
    const ended = runCli(terminal);
    await until(() => terminal.err().includes("Waiting for a change"));
    expect(terminal.out()).toContain("You said: Good morning");
    const file = join(plugin, "mod.ts");
    const source = await readFile(file, "utf8");
    const broken = source.replace("const answer =", "null.length;\n    const answer =");
    await writeFile(file, broken);
    await until(() => terminal.err().split("Waiting for a change").length === 3);
    expect(terminal.out()).toContain(
      `mod.ts:${broken.split("\n").findIndex((line) => line.includes("null.length")) + 1}`,
    );
    await writeFile(file, source.replace("You said", "You wrote"));
    await until(() => terminal.err().split("Waiting for a change").length === 4);
    expect(terminal.out()).toContain("You wrote: Good morning");
    await writeFile(file, `import "node:fs";\n${source}`);
    await until(() => terminal.err().split("Waiting for a change").length === 5);
    expect(terminal.err()).toContain("mod.ts:1:");
    terminal.interrupt();
    expect(await ended).toBe(0);
  }, 240_000);

  test("runs again or ends at a letter and Enter, where a person is at the terminal", async () => {
    const terminal = fakeTerminal({
      args: ["plugin", "dev", "mine", "Morning"],
      cwd: folder,
      tty: true,
      stdin: "x\nr\nq\n",
    });
    expect(await runCli(terminal)).toBe(0);
    expect(terminal.out().split("You said: Morning")).toHaveLength(3);
    expect(terminal.err()).toContain("r and Enter runs it again, q and Enter ends this.");
    expect(terminal.err()).toContain("Once more.");
  }, 120_000);

  test("shows what the adapter logs", async () => {
    const file = join(plugin, "mod.ts");
    const source = await readFile(file, "utf8");
    await writeFile(file, source.replace("const answer =", `ctx.log.warn("Odd.", { at: 7 });\n    const answer =`));
    const terminal = fakeTerminal({ args: ["plugin", "dev", "--once", "mine"], cwd: folder });
    expect(await runCli(terminal)).toBe(0);
    expect(terminal.err()).toContain('log warn: Odd. {"at":7}');
    // The host's own words on the session are in the view of it.
    expect(terminal.err()).not.toContain("log info");
  });

  test("runs once, with the session's exit code, and says where there is no plugin", async () => {
    const once = fakeTerminal({ args: ["plugin", "dev", "--once", "--json", "mine"], cwd: folder });
    expect(await runCli(once)).toBe(0);
    expect(once.out()).toContain('"type":"session_ended"');
    const none = fakeTerminal({ args: ["plugin", "dev", "--once"], cwd: folder });
    expect(await runCli(none)).not.toBe(0);
    expect(none.err()).toContain("There is no plugin.yaml");
  });
});
