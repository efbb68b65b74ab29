import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { defaultLimits } from "../../../core/ground/config/limits.ts";
import { readProjectMemory } from "../../../core/sessions/host/context-files.ts";

const names = ["CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md"];
let root: string;

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-memory-")));
  await write({
    "repo/.git/config": "[core]",
    "repo/work/file.txt": "",
    "outside.md": "SECRET",
    "repo/notes.md": "NOTES",
  });
});
afterEach(() => rm(root, { recursive: true }));

async function write(files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text);
  }
}

const read = (workdir = "repo", limits = {}) =>
  readProjectMemory(names, {
    workdir: join(root, workdir),
    protectedPaths: [join(root, "repo/host")],
    runsPrograms: true,
    limits: { ...defaultLimits, ...limits },
  });

test("a project without instructions has none, nor has an adapter that names no file or runs no program", async () => {
  expect(await read()).toBeNull();
  await write({ "repo/CLAUDE.md": "A" });
  const options = { workdir: join(root, "repo"), protectedPaths: [], limits: defaultLimits };
  expect(await readProjectMemory([], { ...options, runsPrograms: true })).toBeNull();
  expect(await readProjectMemory(names, { ...options, runsPrograms: true })).not.toBeNull();
  expect(await readProjectMemory(names, { ...options, runsPrograms: false })).toBeNull();
});

test("a folder inside of a protected place, as a worktree of the host's is, has its own; what is protected in it stays out", async () => {
  await write({ "state/tree/CLAUDE.md": "OWN", "state/tree/host/CLAUDE.md": "HIDDEN", "state/secret.md": "SECRET" });
  await symlink("../secret.md", join(root, "state/tree/AGENTS.md"));
  const workdir = join(root, "state/tree");
  const { text = "" } = await readProjectMemory([...names, "host/CLAUDE.md"], {
    workdir,
    protectedPaths: [join(root, "state"), join(workdir, "host")],
    runsPrograms: true,
    limits: defaultLimits,
  }) ?? {};
  expect(text.match(/OWN|HIDDEN|SECRET/g)).toEqual(["OWN"]);
});

test("the files of the folder and of those above in the repository, the nearest last", async () => {
  await write({
    "CLAUDE.md": "ABOVE",
    "repo/CLAUDE.md": "TOP",
    "repo/work/.claude/CLAUDE.md": "NEAR",
    "repo/AGENTS.md": "AGENTS",
  });
  const { text = "", left_out } = await read("repo/work") ?? {};
  expect(text.match(/ABOVE|TOP|NEAR|AGENTS$/gm)).toEqual(["TOP", "AGENTS", "NEAR"]);
  expect(text).toContain('Contents of "../CLAUDE.md"');
  expect(left_out).toEqual([]);
});

test("documents that they import, each once, and none in code", async () => {
  await write({
    "repo/CLAUDE.md":
      "See @docs/style.md, @README and @package.json.\n`@docs/code.md`\n```\n@docs/fence.md\n```\nme@docs.md @param",
    "repo/docs/style.md": "STYLE @more.md @../CLAUDE.md",
    "repo/docs/more.md": "MORE @style.md",
    "repo/docs/code.md": "CODE",
    "repo/docs/fence.md": "FENCE",
    "repo/README": "READ ME",
    "repo/package.json": '{"name": "PACKAGE"}',
  });
  const { text = "", left_out } = await read() ?? {};
  expect(text.match(/STYLE|MORE|READ ME|PACKAGE|CODE|FENCE/g)).toEqual(["STYLE", "MORE", "READ ME", "PACKAGE"]);
  expect(left_out).toEqual([]);
});

test("an import that leads out of the project is left out and told", async () => {
  await write({ "repo/CLAUDE.md": `A @../outside.md @~/.ssh/id.md @${root}/outside.md @docs/../../outside.md B` });
  const { text = "", left_out } = await read() ?? {};
  expect(text).not.toContain("SECRET");
  expect(left_out).toEqual(["@../outside.md", "@~/.ssh/id.md", `@${root}/outside.md`, "@docs/../../outside.md"]);
});

test("no file of settings or keys is imported", async () => {
  await write({
    "repo/CLAUDE.md": "A @.env @.git/config @.npmrc @keys/id.pem @secrets.yaml @.ssh/notes.md @.env.md",
    "repo/.env": "SECRET",
    "repo/.env.md": "SECRET",
    "repo/.npmrc": "SECRET",
    "repo/keys/id.pem": "SECRET",
    "repo/secrets.yaml": "SECRET",
    "repo/.ssh/notes.md": "SECRET",
  });
  await symlink("../.env", join(root, "repo/keys/doc.md"));
  await write({ "repo/AGENTS.md": "@keys/doc.md" });
  const { text, left_out } = await read() ?? {};
  expect(text).not.toMatch(/SECRET|\[core\]/);
  expect(left_out).toEqual(["keys/doc.md"]);
});

test("a link out of the project is not followed, one inside of it is", async () => {
  await write({ "repo/AGENTS.md": "AGENTS", "elsewhere/a.md": "SECRET" });
  await symlink("AGENTS.md", join(root, "repo/CLAUDE.md"));
  await symlink("../elsewhere", join(root, "repo/.claude"));
  expect(await read()).toEqual({ text: expect.stringMatching(/AGENTS$/), left_out: [] });
  await write({ "elsewhere/CLAUDE.md": "SECRET" });
  await rm(join(root, "repo/CLAUDE.md"));
  await symlink("../outside.md", join(root, "repo/CLAUDE.md"));
  await symlink("../elsewhere/a.md", join(root, "repo/linked.md"));
  await write({ "repo/AGENTS.md": "AGENTS @linked.md" });
  const { text, left_out } = await read() ?? {};
  expect(text).not.toContain("SECRET");
  expect(left_out).toEqual(["CLAUDE.md", ".claude/CLAUDE.md", "linked.md"]);
});

test("a file of the working directory, which agents write, leads to nothing above it", async () => {
  await write({
    "repo/work/CLAUDE.md": "A @../notes.md",
    "repo/CLAUDE.md": "TOP @notes.md @work/more.md",
    "repo/work/more.md": "@../notes2.md",
  });
  await write({ "repo/notes2.md": "SECRET" });
  await symlink("../notes2.md", join(root, "repo/work/AGENTS.md"));
  const { text = "", left_out } = await read("repo/work") ?? {};
  expect(text).toContain("NOTES");
  expect(text).not.toContain("SECRET");
  expect(left_out).toEqual(["@../notes2.md", "@../notes.md", "AGENTS.md"]);
});

test("outside of a repository nothing above the working directory is read", async () => {
  await write({ "plain/CLAUDE.md": "ABOVE", "plain/work/CLAUDE.md": "NEAR" });
  expect((await read("plain/work"))?.text).toMatch(/"CLAUDE.md".*\n\nNEAR$/);
});

test("what is too large, no text, not a file or the host's own is left out and told", async () => {
  await write({ "repo/CLAUDE.md": "x".repeat(101), "repo/AGENTS.md": "\0" });
  await mkdir(join(root, "repo/.claude/CLAUDE.md"), { recursive: true });
  expect(await read("repo", { context_file_bytes: 100 })).toEqual({ text: "", left_out: names });
  await write({ "repo/CLAUDE.md": "x".repeat(60) + " @a.md", "repo/a.md": "y".repeat(60), "repo/host/b.md": "SECRET" });
  await write({ "repo/AGENTS.md": "@host/b.md" });
  expect(await read("repo", { context_bytes: 100 })).toMatchObject({
    left_out: ["a.md", ".claude/CLAUDE.md", "host/b.md"],
  });
});
