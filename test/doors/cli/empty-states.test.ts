import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import { listFiles, readSource } from "../../structure/source.ts";
import { adapterCode, completed, writePlugin } from "../../sessions/host/test-host.ts";
import { brokenLines } from "./broken-lines.ts";
import { fakeTerminal } from "./fake-terminal.ts";

let home: string;
beforeAll(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-fresh-")));
});
afterAll(() => rm(home, { recursive: true, force: true }));

/** Runs a command in a folder without bulkhead.yaml, with a state folder that is new. */
async function fresh(args: string[], cwd = home, columns = 0) {
  const terminal = fakeTerminal({
    args: [...args, "--state-dir", join(home, "state")],
    cwd,
    columns,
    tty: columns > 0,
  });
  const code = await runCli(terminal);
  return { code, out: terminal.out(), err: terminal.err() };
}

/** Commands that empty screens of the console name, and where each is run; by its words as far as they are plain. */
const named: Readonly<Record<string, string>> = {
  "demo": "below",
  "setup": "setup.test.ts",
  "console": "daemon.test.ts: the daemon that shows the page is there",
  "plugin add": "plugin-author.test.ts: with the package that it stands for",
  "run --all": "end-to-end.test.ts: with the agents that the screen compares",
};

test("each command of an empty screen of the console is run by a test", () => {
  const blocks = listFiles("core/doors/console/page", ".tsx").flatMap((path) =>
    readSource(path).match(/<Empty[\s>][^]*?<\/Empty>/g) ?? []
  );
  const found = blocks.flatMap((block) =>
    [...block.matchAll(/bulkhead ([a-z-]+(?: [a-z-]+)*)/g)].map(([, words]) => words!)
  );
  expect([...new Set(found)].sort()).toEqual(Object.keys(named).sort());
});

test("an empty list of sessions names commands that work in a new folder", { timeout: 120_000 }, async () => {
  const { code, out } = await fresh(["session", "list"]);
  expect({ code, out }).toEqual({
    code: 0,
    out: "No session yet. See it at work: bulkhead demo\nTo use an agent of this machine: bulkhead setup\n",
  });
  const demo = await fresh(["demo"]);
  expect(demo.out).toContain("checks passed");
  expect(demo.code).toBe(0);
});

test("what stands without a daemon breaks no word, also in a narrow terminal", async () => {
  for (const columns of [40, 50, 80, 120]) {
    const { out } = await fresh([], home, columns);
    expect(out).toContain("bulkhead start");
    expect(brokenLines(out, columns)).toEqual([]);
  }
});

test("where an agent is enabled, an empty list names it, and the command runs", { timeout: 120_000 }, async () => {
  const project = join(home, "project");
  await writePlugin(join(home, "quick"), "quick", { code: adapterCode(`yield ${completed};`) });
  await writePlugin(join(project, "x"), "x", {});
  await writeFile(
    join(project, "bulkhead.yaml"),
    "bulkhead: 1\nplugins:\n  quick: { source: ../quick, enabled: true }\n",
  );
  expect((await fresh(["session", "list"], project)).out).toBe('No session yet. Start one: bulkhead run quick "…"\n');
  expect(await fresh(["run", "quick", "…"], project)).toMatchObject({ code: 0 });
});

test(
  "the hint at a plugin that is not enabled works in a folder without bulkhead.yaml",
  { timeout: 120_000 },
  async () => {
    const bare = join(home, "bare");
    await mkdir(bare);
    const { code, err } = await fresh(["run", "replay", "Try it"], bare);
    expect({ code, hint: err.split("\n")[1]?.trim() }).toEqual({ code: 5, hint: "bulkhead plugin enable replay" });
    const enabled = await fresh(["plugin", "enable", "replay"], bare);
    const file = join(bare, "bulkhead.yaml");
    expect(enabled).toMatchObject({ code: 0, err: `There was no bulkhead.yaml: wrote ${file}.\n` });
    expect(enabled.out).toContain(`replay is enabled (${file}).`);
    expect(await fresh(["plugin", "enable", "repo-census"], bare)).toMatchObject({ code: 0, err: "" });
    const grants = ["plugin", "grant", "replay", "read:plugin", "read:workdir", "write:workdir"];
    expect(await fresh(grants, bare)).toMatchObject({ code: 0 });
    expect(await fresh(["run", "replay", "Try it"], bare)).toMatchObject({ code: 0 });
    // One that there is not changes nothing.
    const none = join(home, "none");
    await mkdir(none);
    expect(await fresh(["plugin", "enable", "nobody"], none)).toMatchObject({ code: 5 });
    expect(await readdir(none)).toEqual([]);
  },
);

test("run --record says how to play the file where the replay plugin is off", { timeout: 120_000 }, async () => {
  const project = join(home, "project");
  const { code, err } = await fresh(["run", "quick", "Hello", "--record", "r.jsonl"], project);
  expect(code).toBe(0);
  const lines = err.trim().split("\n").slice(-2);
  expect(lines).toEqual([
    "To play it: bulkhead plugin enable replay",
    'Then: bulkhead run replay "again" --param recording=./r.jsonl',
  ]);
  expect(await fresh(["plugin", "enable", "replay"], project)).toMatchObject({ code: 0 });
  const asks = ["plugin", "grant", "replay", "read:plugin", "read:workdir", "write:workdir"];
  expect(await fresh(asks, project)).toMatchObject({ code: 0 });
  expect(await fresh(["run", "replay", "again", "--param", "recording=./r.jsonl"], project)).toMatchObject({ code: 0 });
});
