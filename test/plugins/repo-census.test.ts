import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { cliTool } from "bulkhead/plugin-sdk";
import { runAdapter } from "bulkhead/plugin-sdk/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readManifest } from "../../core/packages/manifest/read-manifest.ts";
import { runtimeCommand } from "../../core/ground/platform/processes/own-command.ts";

const folder = fileURLToPath(new URL("../../plugins/repo-census/", import.meta.url));

let workdir = "";
beforeEach(async () => {
  workdir = await mkdtemp(join(tmpdir(), "bulkhead-census-"));
  await mkdir(join(workdir, "src"));
  await mkdir(join(workdir, "node_modules"));
  await mkdir(join(workdir, ".git"));
  await writeFile(join(workdir, "src", "a.ts"), "one\n\nthree\n");
  await writeFile(join(workdir, "src", "b.ts"), "one");
  await writeFile(join(workdir, "c.py"), "x = 1\n");
  await writeFile(join(workdir, "picture.png"), "binary");
  await writeFile(join(workdir, "node_modules", "d.js"), "no\n");
  await writeFile(join(workdir, ".git", "e.js"), "no\n");
  await symlink("/", join(workdir, "src", "link"));
});
afterEach(() => rm(workdir, { recursive: true }));

async function census(...args: string[]): Promise<{ stdout: string; stderr: string; code: unknown }> {
  const { file, prefix } = runtimeCommand();
  const command = [...prefix, join(folder, "census.mjs"), "--workdir", workdir, ...args];
  return await promisify(execFile)(file, command).then(
    ({ stdout, stderr }) => ({ stdout, stderr, code: 0 }),
    (error: { stdout: string; stderr: string; code: unknown }) => error,
  );
}

test("the census counts files, lines and blank lines by language and writes them as a table", async () => {
  expect(await census("--report", "CENSUS.md")).toMatchObject({ code: 0, stderr: "" });
  expect(await readFile(join(workdir, "CENSUS.md"), "utf8")).toBe([
    "# Census",
    "",
    "| language | files | lines | blank | bytes |",
    "|---|---:|---:|---:|---:|",
    "| TypeScript | 2 | 4 | 1 | 14 |",
    "| Python | 1 | 1 | 0 | 6 |",
    "| **all** | **3** | **5** | **1** | **20** |",
    "",
  ].join("\n"));
});

test("the census does not count its own report, so that it gives the same again", async () => {
  await census("--report", "CENSUS.md");
  const first = await readFile(join(workdir, "CENSUS.md"), "utf8");
  const { stdout } = await census("--report", "CENSUS.md");
  expect(await readFile(join(workdir, "CENSUS.md"), "utf8")).toBe(first);
  expect(stdout).toContain('"action":"modify"');
});

test.each([["../out.md"], ["/etc/out.md"], ["."]])("the census refuses to write its report to %s", async (report) => {
  const { code, stderr } = await census("--report", report);
  expect(code).toBe(1);
  expect(stderr).toContain("not a file inside the repository");
});

test("the plugin turns what the census prints into sound events", async () => {
  const { stdout } = await census("--report", "CENSUS.md");
  const run = await runAdapter(cliTool(await readManifest(folder)), {}, {
    processes: [{ binary: "@runtime", args: "{}/census.mjs --workdir {} --report CENSUS.md", stdout }],
  });
  expect(run).toMatchObject({ error: null, violations: [] });
  expect(run.events.map(({ type }) => type)).toEqual([
    "progress",
    ...["tool_call", "tool_result", "progress", "tool_call", "tool_result", "progress"],
    "file_change",
    "progress",
    "completed",
  ]);
  expect(run.events.at(-1)).toMatchObject({
    success: true,
    output: "3 files, 5 lines, 2 languages; see CENSUS.md",
    files_changed: ["CENSUS.md"],
  });
  expect(run.events[1]).toMatchObject({ tool: "count_lines", kind: "read", input: { language: "Python", files: 1 } });
});
