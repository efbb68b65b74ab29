import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findWorkspace } from "../../../core/doors/cli/find-session.ts";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import { createHost } from "../../../core/sessions/host/create-host.ts";
import { fixtureAt } from "../../records/git/git-fixture.ts";
import { errorOf } from "../../sessions/host/test-host.ts";
import { type WorkspaceFixture, workspaceFixture } from "../../records/workspace/workspace-fixture.ts";
import { fakeHost, noWorkspaces } from "./fake-host.ts";
import { fakeTerminal, type FakeTerminalOptions } from "./fake-terminal.ts";

const first = "aa11000000000000000000000000ffff";
const second = "aa22000000000000000000000000ffff";

/** The command line on a real host whose state has the fixture's workspaces. */
function cli(f: WorkspaceFixture, ...args: string[]) {
  return cliIn(f, { args });
}

async function cliIn(f: WorkspaceFixture, { args, ...options }: FakeTerminalOptions & { args: string[] }) {
  const cwd = join(f.root, "cwd");
  mkdirSync(cwd, { recursive: true });
  writeFileSync(join(cwd, "bulkhead.yaml"), "bulkhead: 1\nworkspaces:\n  keep_ms: 60000\n");
  const all = ["session", ...args, "--state-dir", join(f.root, "state")];
  const terminal = fakeTerminal({ ...options, args: all, cwd });
  const code = await runCli(terminal, { createHost: (options) => createHost({ ...options, bundledDir: null }) });
  return { code, out: terminal.out(), err: terminal.err() };
}

describe("bulkhead session", () => {
  it("lists, shows, applies and discards what sessions changed", async () => {
    const f = workspaceFixture();
    expect(await cli(f, "list", "--worktrees")).toEqual({
      code: 0,
      err: "",
      out: "No session has worked in a worktree.\n",
    });
    await f.changed((at) => at.write("a.txt", "by the agent\n"), first);
    await f.changed((at) => at.write("b.txt", "never\n"), second);

    const list = await cli(f, "list", "--worktrees");
    expect(list.code).toBe(0);
    expect(list.out).toMatch(new RegExp(`${second.slice(0, 8)}  waits .*\\n .*${first.slice(0, 8)}  waits`));
    const rows = (await cli(f, "list", "--worktrees", "--json")).out.trim().split("\n").map((line) =>
      JSON.parse(line) as object
    );
    expect(rows).toMatchObject([{ session_id: first, state: "open", running: false }, { session_id: second }]);
    expect(Object.keys(rows[0]!)).not.toContain("store");

    expect((await cli(f, "diff", "aa11", "--stat")).out).toBe("modified  a.txt\n");
    const diff = await cli(f, "diff", first);
    expect(diff.out).toContain("+by the agent\n");
    const json = JSON.parse((await cli(f, "diff", "aa11", "--json")).out) as { patch: string };
    expect(json).toMatchObject({ session_id: first, patch: diff.out, artifacts: [{ path: "a.txt" }] });

    const applied = await cli(f, "apply", "aa11");
    expect(applied).toEqual({ code: 0, err: "", out: `modified  a.txt\nApplied to ${f.work}.\n` });
    expect(new TextDecoder().decode(f.read("a.txt"))).toBe("by the agent\n");
    expect((await cli(f, "discard", "aa22", "--json")).out).toBe(
      `${JSON.stringify({ session_id: second, discarded: true })}\n`,
    );
    expect((await cli(f, "apply", "aa22")).code).toBe(2);
    expect((await cli(f, "list", "--worktrees")).out).toMatch(/discarded [^]*applied /);
    expect((await cli(f, "prune")).out).toBe("Nothing was removed.\n");
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect((await cli(f, "prune", "--older-than", "1ms")).out).toBe("Removed 2 worktrees.\n");
  }, 120_000);

  it("names what an apply holds, with what would start it, and settles it", async () => {
    const f = workspaceFixture();
    await f.changed((at) => {
      at.write("a.txt", "by the agent\n");
      at.write("app/.vscode/tasks.json", "x");
      at.write(`${"deep/".repeat(20)}.envrc`, "x");
      at.write("app/.envrc", "x");
    }, first);
    expect((await cli(f, "diff", first, "--stat")).out).toContain("! app/.envrc: new file that programs act on\n");
    const applied = await cli(f, "apply", first, "--with-held", "app/.envrc");
    expect(applied.code).toBe(0);
    const lines = applied.out.split("\n");
    expect(lines).toContain("untracked app/.envrc");
    expect(lines).toContain("2 changes can run programs, and wait for you");
    expect(lines).toContain("! app/.vscode (1 file): new file that programs act on");
    expect(lines.some((line) => line.startsWith("  editors: They start tasks"))).toBe(true);
    expect(lines).toContain(`keep or remove them: bulkhead session held ${first.slice(0, 8)}`);
    const { held } = JSON.parse((await cli(f, "held", "aa11", "--json")).out) as { held: { path: string }[] };
    expect(held.map(({ path }) => path)).toEqual(["app/.vscode", `${"deep/".repeat(20)}.envrc`]);
    const listed = await cliIn(f, { args: ["held"], tty: true, columns: 80 });
    expect(listed.out).toContain(first);
    const narrow = listed.out.split("\n").filter((line) => !line.includes(f.root));
    expect(Math.max(...narrow.map((line) => line.length))).toBeLessThanOrEqual(80);
    expect((await cli(f, "held", "aa11", "--drop", "app/.vscode")).out).toMatch(
      /^1 change dropped\.\n1 change can run/,
    );
    expect(await cli(f, "held", "aa11", "--drop", "none")).toMatchObject({ code: 5 });
    const asked = await cliIn(f, { args: ["held", "aa11"], tty: true, columns: 80, stdin: "apply\n" });
    expect(asked.err).toContain("shells and terminals: They run these when they start");
    expect(asked.out).toContain("1 change applied.\n");
    expect((await cli(f, "held")).out).toBe("Nothing is held.\n");
    expect((await cli(f, "list", "--worktrees")).out).toContain("applied");
  }, 120_000);

  it("names the paths of a conflict, and exits as blocked", async () => {
    const f = workspaceFixture();
    await f.changed((at) => at.write("a.txt", "by the agent\n"), first);
    f.write("a.txt", "by the person\n");
    const { code, err } = await cli(f, "apply", first);
    expect(code).toBe(3);
    expect(err).toContain("conflict  a.txt\n");
    expect(err).toContain("Nothing was changed.");
    expect(err).toMatch(/The worktree: \/.*\/tree\//);
  });

  it("gives a patch that is not UTF-8 in base64 as JSON, and says what commits were kept", async () => {
    const f = workspaceFixture();
    await f.changed((at) => {
      at.write("latin.txt", new Uint8Array([0xe9, 0x0a]));
      at.commitAll();
    }, first);
    const json = JSON.parse((await cli(f, "diff", first, "--json")).out) as { patch_base64: string };
    expect(Uint8Array.from(atob(json.patch_base64), (letter) => letter.charCodeAt(0)).includes(0xe9)).toBe(true);
    expect((await cli(f, "apply", first)).out).toContain(`refs/bulkhead/${first}\n`);
    expect(fixtureAt(f.root, f.work).git("rev-parse", `refs/bulkhead/${first}`)).toMatch(/^[0-9a-f]{40}/);
  });
});

describe("findWorkspace", () => {
  it("takes the whole id or a beginning that tells it apart", async () => {
    const f = workspaceFixture();
    await f.open(first);
    await f.open(second);
    const host = await fakeHost({
      workspaces: { ...noWorkspaces, ...f.workspaces, prune: () => Promise.reject(new Error()) },
    }).create(
      {},
    );
    expect((await findWorkspace(host.workspaces, first)).session_id).toBe(first);
    expect((await findWorkspace(host.workspaces, "aa2")).session_id).toBe(second);
    expect((await errorOf(findWorkspace(host.workspaces, "aa"))).code).toBe("invalid_request");
    expect((await errorOf(findWorkspace(host.workspaces, "bb"))).code).toBe("not_found");
    expect((await errorOf(findWorkspace(host.workspaces, ""))).code).toBe("not_found");
  });
});
