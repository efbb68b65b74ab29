import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createHost, loadHostManifest } from "bulkhead";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCli } from "../../../../core/doors/cli/run-cli.ts";
import { type Daemon, startDaemon } from "../../../../core/doors/daemon/daemon.ts";
import { adapterCode, completed, writePlugin } from "../../../sessions/host/test-host.ts";
import { fakeTerminal } from "../fake-terminal.ts";
import { seen } from "../screen/seen.ts";

let root = "";
let daemon: Daemon;
const at = () => ["--config", join(root, "bulkhead.yaml"), "--state-dir", join(root, "state")];

beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "bh-watch-")));
  await writePlugin(join(root, "plugins", "sleeps"), "sleeps", {
    code: adapterCode(`    yield { type: "progress", message: "Watching the tests", percentage: 40 };
    await ctx.sleep(600_000);`),
  });
  await writePlugin(join(root, "plugins", "wonders"), "wonders", {
    code: adapterCode(
      `    yield { type: "question", request_id: "q", question: "Left or right?", options: ["left", "right"] };
    await ctx.answer("q");
    yield ${completed};`,
    ),
  });
  const file = join(root, "bulkhead.yaml");
  await writeFile(file, "bulkhead: 1\nplugins: { wonders: {}, sleeps: {} }\ndaemon: { port: 0 }\n");
  daemon = await startDaemon({
    createHost,
    readManifest: async () => await loadHostManifest({ config: file, from: root }) ?? undefined,
    root,
    stateDir: join(root, "state"),
    bundledDir: null,
  });
});

afterAll(async () => {
  await daemon.stop({ drainMs: 0 });
  await rm(root, { recursive: true, force: true });
});

async function cli(...args: string[]) {
  const terminal = fakeTerminal({ args: [...args, ...at()], cwd: root });
  return { code: await runCli(terminal, { createHost }), out: terminal.out };
}

test("session watch follows all that run: a table with keys at a terminal, lines and data in a pipe", async () => {
  const watch = (args: string[], tty: boolean) => {
    const terminal = fakeTerminal({
      args: ["session", "watch", ...args, ...at()],
      cwd: root,
      tty,
      columns: tty ? 80 : 0,
    });
    return { terminal, code: runCli(terminal, { createHost }) };
  };
  const [table, lines] = [watch([], true), watch([], false)];
  const picture = () => seen(table.terminal.out().split("\u001b[H").at(-1)!.replaceAll("\r\n", "\n"));
  await expect.poll(picture, { timeout: 10_000 }).toContain("   No session runs.");
  const runs = ["wonders", "sleeps"].map((adapter) => cli("run", adapter, "go", "--quiet", "--answer-timeout", "60s"));
  await expect.poll(picture, { timeout: 20_000 }).toEqual([
    " 1 waits for you · 1 runs",
    "",
    "   session   state    agent    silent  now",
    expect.stringMatching(/^▸ {2}\w{8} {2}▲ waits {2}wonders {2}\d+ s +asks: Left or right\?$/),
    expect.stringMatching(/^ {3}\w{8} {2}● runs {3}sleeps {3}\d+ s +Watching the tests$/),
    "",
    " go",
    expect.stringContaining("[i]nterrupts it"),
  ]);
  expect((await cli("session", "list")).out()).toMatch(/^ .*sleeps .*Watching the tests {2}go$/m);
  const [first = "", second = ""] = picture().slice(3, 5).map((row) => row.slice(3, 11));
  const named = watch([first, "--json"], false);
  for (const key of ["j", "i", "n", "i", "y"]) table.terminal.press(key);
  await expect.poll(picture, { timeout: 20_000 }).toContainEqual(
    expect.stringMatching(new RegExp(`^▸ {2}${second} {2}✘ error +sleeps +error · interrupted$`)),
  );
  await cli("session", "answer", first, "left");
  expect(await named.code).toBe(0);
  const rows = named.terminal.out().trimEnd().split("\n").map((line) => JSON.parse(line) as object);
  expect(rows).toContainEqual(expect.objectContaining({ state: "waiting", asks: "Left or right?", doing: "running" }));
  expect(rows.at(-1)).toMatchObject({ state: "ended", adapter_id: "wonders", outcome: "completed", title: "go" });
  await expect.poll(picture, { timeout: 10_000 }).toContain(" 0 run · 2 ended");
  table.terminal.press("q");
  expect(await table.code).toBe(0);
  expect(table.terminal.out().split("\u001b[?1049l").at(-1)).toMatch(/^ 0 run · 2 ended\n/);
  lines.terminal.interrupt();
  expect(await lines.code).toBe(0);
  for (const end of ["asks: Left or right?", "completed · end_turn", "error · interrupted"]) {
    expect(lines.terminal.out()).toMatch(
      new RegExp(`^\\d\\d:\\d\\d:\\d\\d {2}\\w{8} .*${end.replace("?", "\\?")}$`, "m"),
    );
  }
  expect(lines.terminal.out()).toMatch(/sleeps {2}running$/m);
  expect(lines.terminal.out()).not.toContain("\x1b");
  expect(lines.terminal.out()).not.toContain("Watching");
  expect((await Promise.all(runs)).map(({ code }) => code)).toEqual([0, 130]);
}, 60_000);
