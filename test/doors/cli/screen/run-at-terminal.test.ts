import { spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test, type TestContext } from "vitest";
import { skipBecause } from "../../../skip-because.ts";
import { seen } from "./seen.ts";

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const program = "Deno" in globalThis
  ? ["run", "-A", "--quiet", join(root, "core/doors/cli/main.ts")]
  : [join(root, "dist/bundle/cli.js")];

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "bulkhead-terminal-"));
});
afterEach(() => rm(folder, { recursive: true, maxRetries: 3 }));

/** Skips the test where there is no program that opens a terminal, and says why. */
function needsTerminals(context: TestContext): void {
  if (spawnSync("script", ["--version"], { encoding: "utf8" }).stdout?.includes("util-linux")) return;
  skipBecause(context, "script of util-linux, which opens a terminal for a program, is missing here.");
}

/** Plays a recording at a terminal, and presses keys once a text is shown there. Returns all that was written to it. */
async function play(
  events: readonly object[],
  { env = {}, keys }: { env?: object; keys?: { after: string; press: string } },
) {
  const lines = events.map((event, index) => JSON.stringify({ at_ms: 300 * index, event }));
  await writeFile(join(folder, "made.jsonl"), `${lines.join("\n")}\n`);
  await writeFile(
    join(folder, "bulkhead.yaml"),
    "bulkhead: 1\nplugins:\n  replay: { grant: { read: [plugin, workdir], write: [workdir] } }\n",
  );
  const words = [...[process.execPath, ...program].map((word) => `'${word}'`), "--embedded", "--state-dir", "state"];
  const line = `stty columns 80 rows 24; exec ${words.join(" ")} run replay Go --param recording=./made.jsonl`;
  const { PATH, HOME, DENO_DIR } = process.env;
  const child = spawn("script", ["--quiet", "--flush", "--return", "--command", line, "shown"], {
    cwd: folder,
    env: {
      PATH,
      HOME,
      DENO_DIR,
      SHELL: "/bin/sh",
      TERM: "xterm",
      XDG_CONFIG_HOME: folder,
      XDG_STATE_HOME: folder,
      ...env,
    },
    stdio: ["pipe", "pipe", "inherit"],
  });
  let written = "";
  let isPressed = false;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    written += text;
    if (keys === undefined || isPressed || !written.includes(keys.after)) return;
    isPressed = true;
    child.stdin.write(keys.press);
  });
  const code = await new Promise<number | null>((resolve) => child.on("exit", resolve));
  child.stdin.destroy();
  return { code, written, rows: seen(written.replaceAll("\r\n", "\n")) };
}

const entry = (content: string, status: string) => ({ content, status });
const begun = [
  { type: "agent_info", model: "model-x" },
  { type: "plan", entries: [entry("Look", "in_progress"), entry("Tell", "pending")] },
  { type: "output", stream: "stdout", data: "Looking " },
];
const ended = [
  { type: "output", stream: "stdout", data: "around.\n" },
  { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null },
];

test("bulkhead run keeps a status line at a terminal and leaves none behind", async (context) => {
  needsTerminals(context);
  const { code, written, rows } = await play([...begun, ...ended], {});
  expect(code).toBe(0);
  expect(written).toContain("1/2 Look");
  expect(written).toContain("[i]nterrupt [p]lan");
  expect(rows).toContain(" Looking around.");
  expect(rows.join("\n")).not.toContain("[i]nterrupt");
});

test("bulkhead run at a terminal that cannot erase writes no escape and no status line", async (context) => {
  needsTerminals(context);
  const { written } = await play([...begun, ...ended], { env: { TERM: "dumb", NO_COLOR: "1" } });
  expect(written).toContain("Looking around.");
  expect(written).not.toContain("\u001b");
  expect(written).not.toContain("nterrupt");
});

test("bulkhead run shows the plan at p, and ends at i", async (context) => {
  needsTerminals(context);
  const waits = Array.from({ length: 100 }, () => ({ type: "progress", message: "waiting" }));
  const { code, rows } = await play([...begun, ...waits], { keys: { after: "[p]lan", press: "pi" } });
  expect(code).not.toBe(0);
  expect(rows.filter((row) => row.endsWith("◐ Look"))).toEqual([" ◐ Look", "   ◐ Look"]);
  expect(rows.join("\n")).toMatch(/✘ error · interrupted/);
});
