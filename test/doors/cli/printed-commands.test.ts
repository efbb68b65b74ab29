import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { grantCommand, grantTarget } from "../../../core/ground/config/grant-command.ts";
import { readHostManifest } from "../../../core/packages/manifest/find-host-manifest.ts";
import { shownPermissions } from "../../../core/packages/permissions/shown-permissions.ts";
import { createRegistry } from "../../../core/packages/registry/registry.ts";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import { writePlugin } from "../../sessions/host/test-host.ts";
import { fakeHost } from "./fake-host.ts";
import { fakeTerminal } from "./fake-terminal.ts";

let cwd = "";
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), "bulkhead-printed-"));
  await mkdir(join(cwd, "plugins"));
  await writeFile(join(cwd, "bulkhead.yaml"), "bulkhead: 1\nplugins:\n  alpha: {}\n");
  await writePlugin(join(cwd, "plugins/alpha"), "alpha", { manifest: asks });
});
afterEach(() => rm(cwd, { recursive: true }));

const asks = `permissions:
  run: [{ binary: git, args: [push, "{...}", "commit -m 'a b'"] }, { binary: my-tool }]
  net: ["*.example.com:443"]
  write: [workdir, "workdir:package.json", "workdir:it's here"]
  secrets: [{ name: KEY, env: [TOKEN] }]
  kv: true`;

/** Runs a printed line as a shell would split it. */
async function paste(line: string) {
  const words = execFileSync("sh", ["-c", `printf '%s\\0' ${line}`], { encoding: "utf8" }).split("\0").slice(1, -1);
  const terminal = fakeTerminal({ args: words, cwd });
  const host = fakeHost();
  return { code: await runCli(terminal, { createHost: host.create }), out: terminal.out(), err: terminal.err() };
}

async function rows() {
  const manifest = await readHostManifest(join(cwd, "bulkhead.yaml"));
  const registry = await createRegistry({ manifest, root: cwd });
  return shownPermissions(registry.get("alpha")!, { path: [] });
}

test("the command of each row, pasted into a terminal, allows the row", { timeout: 120_000 }, async () => {
  const missing = (await rows()).filter(({ permission }) => permission !== "run_env");
  expect(missing).toHaveLength(10);
  for (const row of missing) {
    const line = grantCommand("alpha", row.permission, { target: grantTarget(row) });
    expect(await paste(line), line).toMatchObject({ code: 0, err: "" });
    const after = (await rows()).find((one) => one.permission === row.permission && one.target === row.target);
    expect(after?.effective, line).toEqual([row.target]);
  }
});

test("bulkhead plugin grant says all that a grant allows", async () => {
  expect((await paste("bulkhead plugin grant alpha 'run:git push'")).out).not.toContain("It allows");
  expect((await paste("bulkhead plugin grant alpha run:git")).out).toMatch(/It allows all of: .*run git \{\.\.\.\}/);
});

const page = fileURLToPath(new URL("../../../core/doors/console/page/", import.meta.url));
const sources = (await readdir(page, { recursive: true })).filter((path) => path.endsWith(".tsx"));
const lines = (await Promise.all(sources.map(async (path) => {
  const text = await readFile(join(page, path), "utf8");
  return [...text.matchAll(/(?:["`>]|Run: )bulkhead ([a-z][a-z -]*)/g)].map(([, words]) => words!.trim());
}))).flat();

test("every command that the console prints is one that the command line has", { timeout: 120_000 }, async () => {
  expect(lines).toContain("doctor");
  for (const line of new Set(lines)) {
    const { code, out } = await paste(`bulkhead ${line} --help`);
    const [, path = "", rest = ""] = /^Usage: bulkhead ((?:[a-z-]+ ?)+)(.*)$/m.exec(out) ?? [];
    expect(code, line).toBe(0);
    expect(line.startsWith(path.trim()), line).toBe(true);
    // A word that no command of a group has is no argument either.
    expect(rest, line).not.toContain("<command>");
  }
});
