import { mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import { readSecrets } from "../../../core/walls/secrets/store.ts";
import { fakeTerminal, type FakeTerminalOptions } from "./fake-terminal.ts";

let cwd = "";
let file = "";
beforeEach(async () => {
  cwd = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-cli-")));
  file = join(cwd, "data", "bulkhead", "secrets", "secrets.json");
});
afterEach(() => rm(cwd, { recursive: true }));

async function cli(args: string[], options: FakeTerminalOptions = {}) {
  const terminal = fakeTerminal({ args, cwd, env: { XDG_DATA_HOME: join(cwd, "data") }, ...options });
  const code = await runCli(terminal);
  return { code, out: terminal.out(), err: terminal.err() };
}

describe("bulkhead secret", () => {
  test("set takes a piped value without its line end, and never shows it", async () => {
    const { code, out, err } = await cli(["secret", "set", "API_KEY"], { stdin: "value-of-the-key\n" });
    expect({ code, out, err }).toEqual({ code: 0, out: `Stored: API_KEY (${file}).\n`, err: "" });
    expect((await readSecrets(file)).get("API_KEY")).toBe("value-of-the-key");
  });

  test("set asks on a terminal, hidden", async () => {
    const { code, out, err } = await cli(["secret", "set", "API_KEY", "--json"], {
      stdin: "typed-in-value\nmore",
      tty: true,
    });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({ name: "API_KEY", file });
    expect(out + err).not.toContain("typed-in-value");
    expect((await readSecrets(file)).get("API_KEY")).toBe("typed-in-value");
  });

  test("set takes no value as an argument, where others could read it", async () => {
    const { code } = await cli(["secret", "set", "API_KEY", "value-of-the-key"], { stdin: "another-value" });
    expect(code).toBe(2);
    expect((await readSecrets(file)).size).toBe(0);
  });

  test.each([["A-B"], ["1A"], ["A B"], [""], ["x".repeat(300)]])("set refuses the name %j", async (name) => {
    expect((await cli(["secret", "set", name], { stdin: "value-of-the-key" })).code).toBe(2);
  });

  test("set refuses a value that is too short to be redacted", async () => {
    const { code, err } = await cli(["secret", "set", "API_KEY"], { stdin: "short" });
    expect(code).toBe(2);
    expect(err).toContain("fewer than 8 characters");
  });

  test("list shows names, where each is and who may use it, never a value", async () => {
    await cli(["secret", "set", "STORED"], { stdin: "value-of-the-key" });
    await writeFile(join(cwd, "key.txt"), "value-of-the-file");
    await writeFile(
      join(cwd, "bulkhead.yaml"),
      `bulkhead: 1
secrets:
  IN_FILE: "file:${join(cwd, "key.txt")}"
  IN_ENV: env:BULKHEAD_TEST_NOTHING
plugins:
  alpha: { grant: { secrets: [STORED, { name: IN_FILE, hosts: ["a.example.com:443"] }] } }
  off: { enabled: false, grant: { secrets: [STORED] } }
tools:
  beta: { binary: tr, command_template: "{binary}", env_vars: { K: "\${secret:IN_ENV}" } }
`,
    );
    const { code, out } = await cli(["secret", "list", "--json"]);
    expect(code).toBe(0);
    expect(out.trim().split("\n").map((line) => JSON.parse(line) as unknown)).toEqual([
      { name: "IN_ENV", source: "env:BULKHEAD_TEST_NOTHING", set: false, granted_to: ["beta"] },
      { name: "IN_FILE", source: `file:${join(cwd, "key.txt")}`, set: true, granted_to: ["alpha"] },
      { name: "STORED", source: "stored", set: true, granted_to: ["alpha"] },
    ]);
    const table = await cli(["secret", "list"]);
    expect(table.out).toMatch(/STORED +stored +set +alpha/);
    expect(out + table.out).not.toContain("value-of");
  });

  test("rm removes, and says when there was none", async () => {
    await cli(["secret", "set", "API_KEY"], { stdin: "value-of-the-key" });
    expect((await cli(["secret", "rm", "API_KEY"])).out).toBe("Removed: API_KEY.\n");
    expect(await readFile(file, "utf8")).not.toContain("value-of-the-key");
    expect((await cli(["secret", "rm", "API_KEY"])).code).toBe(5);
    expect((await cli(["secret", "list"])).out).toContain("There is no secret.");
  });
});

describe("bulkhead.yaml", () => {
  test("refuses a value in place of a reference, with its line and without showing it", async () => {
    await writeFile(
      join(cwd, "bulkhead.yaml"),
      "bulkhead: 1\nsecrets:\n  API_KEY: sk-the-value-itself\n  A-B: stored\n",
    );
    const { code, err } = await cli(["secret", "list"]);
    expect(code).toBe(2);
    expect(err).toContain(":3:12 secrets.API_KEY: expected stored, env:NAME or file:/absolute/path");
    expect(err).not.toContain("sk-the-value-itself");
    expect(err).toContain(":4:3 secrets.A-B: expected a name of letters, digits and _");
  });
});
