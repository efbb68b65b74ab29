import { mkdir, mkdtemp, readFile, realpath, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import { openTokens } from "../../../core/doors/http/tokens.ts";
import { fakeTerminal } from "./fake-terminal.ts";

let cwd = "";
beforeEach(async () => {
  cwd = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-cli-")));
});
afterEach(() => rm(cwd, { recursive: true }));

async function cli(...args: string[]) {
  const terminal = fakeTerminal({ args: [...args, "--state-dir", "state"], cwd });
  const code = await runCli(terminal);
  return { code, out: terminal.out(), err: terminal.err() };
}

/** What follows the token's id, and may hold what parts them. */
const secretOf = (token: string) => token.trim().slice("bh_".length + 32 + "_".length);

const store = () => openTokens(join(cwd, "state"));

describe("bulkhead token", () => {
  test("create prints a token that holds, alone on standard output, and keeps none", async () => {
    const { code, out, err } = await cli("token", "create", "ci", "--scope", "run", "--expires", "30d");
    expect([code, out]).toEqual([0, expect.stringMatching(/^bh_[0-9a-f]{32}_[\w-]{43}\n$/)]);
    expect(err).toMatch(/^Token ci \(run\) holds until \d{4}-/);
    expect(await store().check(out.trim())).toMatchObject({ scopes: ["run"] });
    const file = join(cwd, "state", "http", "tokens.json");
    expect(await readFile(file, "utf8")).not.toContain(secretOf(out));
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  test("create --json says what was made; without scopes it may read and run", async () => {
    const { out } = await cli("token", "create", "ci", "--json");
    expect(JSON.parse(out)).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      name: "ci",
      scopes: ["read", "run"],
      created_at: expect.any(String),
      expires_at: null,
      token: expect.stringMatching(/^bh_/),
    });
  });

  test("create --workdir makes one whose sessions are started in those folders alone", async () => {
    await mkdir(join(cwd, "checkout"));
    await symlink("checkout", join(cwd, "link"));
    const { out, err } = await cli("token", "create", "ci", "--workdir", "link", ".");
    const workdirs = [join(cwd, "checkout"), cwd];
    expect(err).toContain(`, for sessions started in ${workdirs.join(", ")}, holds`);
    expect(await store().check(out.trim())).toMatchObject({ workdirs });
    expect((await cli("token", "list")).out).toContain(workdirs.join(" "));
    expect((await cli("token", "create", "other", "--workdir", "none")).code).not.toBe(0);
    expect(await store().list()).toHaveLength(1);
  });

  test.each([
    [["a b"]],
    [[""]],
    [["x".repeat(65)]],
    [["ci", "--scope", "root"]],
    [["ci", "--expires", "0d"]],
    [["ci", "--expires", "tomorrow"]],
  ])("create refuses %j", async (args) => {
    expect((await cli("token", "create", ...args)).code).toBe(2);
    expect(await store().list()).toEqual([]);
  });

  test("a name is taken until it is revoked; list shows no secret", async () => {
    const { out: token } = await cli("token", "create", "ci");
    expect((await cli("token", "create", "ci")).code).toBe(2);
    const list = await cli("token", "list");
    expect(list.out).toContain("ci");
    const [line] = (await cli("token", "list", "--json")).out.trim().split("\n");
    expect(Object.keys(JSON.parse(line!))).toEqual(["id", "name", "scopes", "created_at", "expires_at"]);
    expect(list.out + line).not.toContain(secretOf(token));
    expect(await cli("token", "revoke", "ci")).toMatchObject({ code: 0, out: "Revoked: ci.\n" });
    expect(await store().check(token.trim())).toBeNull();
    expect((await cli("token", "revoke", "ci")).code).toBe(5);
    expect((await cli("token", "list")).out).toContain("There is no token.");
  });
});
