import { execFileSync } from "node:child_process";
import { appendFile, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadHostManifest } from "bulkhead";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { changeManifest } from "../../../core/packages/install/manifest-transaction.ts";
import { addGrant } from "../../../core/packages/manifest/edit-host-manifest.ts";
import { adapterCode, closeHosts, completed, openHost, writePlugin } from "./test-host.ts";

let project: string;
let file: string;

beforeEach(async () => {
  project = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-own-edits-")));
  vi.stubEnv("XDG_DATA_HOME", join(project, "data"));
  file = join(project, "bulkhead.yaml");
  await writeFile(file, "bulkhead: 1\nplugins:\n  alpha: {}\n");
  await writeFile(join(project, ".gitignore"), "data/\nstate/\nplugins/\nworkdir/\n");
  for (const name of ["note.txt", "other.txt"]) await writeFile(join(project, name), name);
  execFileSync("git", ["init", "-q"], { cwd: project });
  await writePlugin(join(project, "plugins", "alpha"), "alpha", {
    code: adapterCode(`    const read = async (name) => await ctx.fs.readText(name);
    yield { type: "output", stream: "stdout", data: await read("note.txt") };
    yield ${completed};`),
    manifest: "permissions: { read: [workdir] }",
  });
});

afterEach(async () => {
  await closeHosts();
  vi.unstubAllEnvs();
  await rm(project, { recursive: true, force: true });
});

/** Runs a session whose grant is given while it runs; returns the paths that it tells as changed. */
async function changedWhile(answer: () => Promise<void>): Promise<string[] | undefined> {
  const { host } = await openHost({
    root: project,
    manifest: (await loadHostManifest({ from: project }))!,
    askGrant: async () => {
      await answer();
      return true;
    },
  });
  const session = await host.runSession({ workdir: project, prompt: "go" }, { adapter: "alpha" });
  const result = await session.result();
  expect(result).toMatchObject({ outcome: "completed", output: "note.txt" });
  return result.artifacts?.map(({ path }) => path);
}

const always = () =>
  changeManifest(file, async ({ text, writeText }) => {
    await writeText(addGrant(text, { pluginId: "alpha", permission: "read", target: "workdir" }, { file }));
  });

test("a grant that is written for always while a session runs is no change of its agent's", async () => {
  expect(await changedWhile(always)).toEqual([]);
});

const edit = () => appendFile(file, "# another\n");

test.each([["alone", edit], ["before Bulkhead did", () => edit().then(always)]])(
  "what another wrote into the host manifest is told: %s",
  async (_, answer) => {
    expect(await changedWhile(answer)).toEqual(["bulkhead.yaml"]);
  },
);
