import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import { createHost } from "../../../core/sessions/host/create-host.ts";
import { shortIds } from "../../../core/ground/log/short-id.ts";
import { adapterCode, completed, writePlugin } from "../../sessions/host/test-host.ts";
import { workspaceFixture } from "../../records/workspace/workspace-fixture.ts";
import { fakeTerminal } from "./fake-terminal.ts";

let root: string;
let ids: string[] = [];
beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-ids-")));
  await mkdir(join(root, "work"));
  await writePlugin(join(root, "quick"), "quick", { code: adapterCode(`yield ${completed};`) });
  await writeFile(
    join(root, "work", "bulkhead.yaml"),
    "bulkhead: 1\nplugins:\n  quick: { source: ../quick, enabled: true }\n",
  );
  for (const prompt of ["one", "two", "three"]) await cli(["run", "quick", prompt, "-q"]);
  const rows = (await cli(["session", "list", "--json"])).out.trim().split("\n");
  ids = rows.map((row) => (JSON.parse(row) as { session_id: string }).session_id);
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function cli(args: string[], { state = join(root, "state"), columns = 0 } = {}) {
  const terminal = fakeTerminal({ args: [...args, "--state-dir", state], cwd: join(root, "work"), columns });
  const code = await runCli(terminal, { createHost: (options) => createHost({ ...options, bundledDir: null }) });
  return { code, out: terminal.out(), err: terminal.err() };
}

const whole = /\b[0-9a-f]{32}\b/;

test.each([
  ["session show ID", 0],
  ["session events ID -v", 0],
  ["session messages ID", 0],
  ["session interrupt ID", 0],
  ["session held ID", 0],
  ["session fork ID", 0],
  ["session list --before ID", 0],
  ["session stop ID", 3],
  ["session answer ID yes", 5],
  ["session rewind ID --to 0", 5],
  ["session diff ID", 5],
  ["session discard ID", 5],
  ["session rerun ID", 0],
  ["replay ID", 5],
  ["run quick again --replay-of ID", 5],
  ["session delete ID", 0],
])("%s takes 8 characters of an id, and names no session with more", async (line, code) => {
  const id = line.includes("delete") ? ids.at(-1)! : ids[1]!;
  const { err, out, ...done } = await cli(line.replace("ID", id.slice(0, 8)).split(" "));
  expect({ ...done, err }).toMatchObject({ code });
  expect(err).not.toContain(`There is no session "${id.slice(0, 8)}"`);
  expect(out + err).not.toMatch(whole);
});

test("a journal's session is exported by the beginning of its id", async () => {
  const { code, out } = await cli(["journal", "export", "--session", ids[1]!.slice(0, 8)]);
  expect(code).toBe(0);
  expect(new Set(out.trim().split("\n").map((row) => (JSON.parse(row) as { session_id: string }).session_id)))
    .toEqual(new Set([ids[1]]));
  expect((await cli(["journal", "export", "--session", "ffffffff"])).err).toContain('There is no session "ffffffff"');
});

test.each([60, 80, 120, 300])("the lists have 8 characters of an id in %i columns", async (columns) => {
  expect((await cli(["session", "list"], { columns })).out).toMatch(new RegExp(`^ ${ids[0]!.slice(0, 8)}  `, "m"));
});

test("lists of worktrees, and what is said of them, have 8 characters; a shared beginning lists both", async () => {
  const f = workspaceFixture();
  const [first, second] = ["aa110000", "aa220000"].map((start) => start.padEnd(32, "0")) as [string, string];
  await f.changed((at) => at.write("a.txt", "one\n"), first);
  await f.changed((at) => at.write("b.txt", "two\n"), second);
  const state = join(f.root, "state");
  expect((await cli(["session", "list", "--worktrees"], { state })).out).toMatch(/^ aa220000 .*\n aa110000 /m);
  const both = await cli(["session", "discard", "aa"], { state });
  expect(both).toMatchObject({
    code: 2,
    err: expect.stringContaining("Type more of it: aa110000, aa220000.") as string,
  });
  expect((await cli(["session", "discard", "aa110000"], { state })).out).toBe("Discarded: aa110000.\n");
  expect((await cli(["session", "apply", "aa110000"], { state })).err).toContain('of session "aa110000" were');
});

test("shortIds shortens what names a session, and leaves digests and refs", () => {
  const id = "0123456789abcdef".repeat(2);
  expect(shortIds(`Session "${id}" runs. Run: bulkhead session show ${id}.`)).toBe(
    'Session "01234567" runs. Run: bulkhead session show 01234567.',
  );
  expect(shortIds(`of 2 sessions: ${id} (3), ${id} (4)`)).toBe("of 2 sessions: 01234567 (3), 01234567 (4)");
  for (const kept of [`refs/bulkhead/${id}`, `sha256 ${id}${id}`, `/state/${id}/tree`, `trace ${id}`]) {
    expect(shortIds(kept)).toBe(kept);
  }
});
