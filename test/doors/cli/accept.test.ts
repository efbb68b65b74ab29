import { readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import { startDaemon } from "../../../core/doors/daemon/daemon.ts";
import { loadHostManifest } from "../../../core/packages/manifest/find-host-manifest.ts";
import { createHost } from "../../../core/sessions/host/create-host.ts";
import { needsWall } from "../../ground/platform/os-walls/needs-wall.ts";
import { firstManifest, makeProject, type RecordedProject } from "../../sessions/host/recorded-project.ts";
import { errorOf, until } from "../../sessions/host/test-host.ts";
import { fakeTerminal } from "./fake-terminal.ts";

let made: RecordedProject;

beforeEach(async (context) => {
  await needsWall(context, "bubblewrap");
  made = await makeProject();
  return () => void vi.unstubAllEnvs();
});

async function cli(args: string[], { typed, cwd = made.project }: { typed?: string; cwd?: string } = {}) {
  const all = [...args, "--state-dir", join(made.root, "state")];
  const terminal = fakeTerminal({ args: all, cwd, ...(typed === undefined ? {} : { tty: true, stdin: typed }) });
  const code = await runCli(terminal, { createHost: (options) => createHost({ ...options, bundledDir: null }) });
  return { code, out: terminal.out(), err: terminal.err() };
}

/** What an editor does: it writes another file and gives it the name. */
async function edit(file: string, text: string): Promise<void> {
  await writeFile(`${file}~`, text);
  await rename(`${file}~`, file);
}

test("bulkhead accept: a command names the digest, which accepts exactly what was shown", async () => {
  const { file, during } = made;
  await during(() => edit(file, `${firstManifest}# mine\n`));
  const refused = await cli(["plugin", "list"]);
  expect(refused).toMatchObject({ code: 3, out: "" });
  const [, digest = ""] = /bulkhead accept \S+ --digest (sha256:[0-9a-f]{64})\n/.exec(refused.err) ?? [];
  expect(refused.err).toMatch(
    /^error: Cannot use the host manifest .*: it changed while an agent could write it\.\n {2}\+ # mine\n/,
  );
  await edit(file, `${firstManifest}# other\n`);
  const again = await cli(["accept", "bulkhead.yaml", "--digest", digest]);
  expect(again).toMatchObject({ code: 3, err: expect.stringContaining("it has changed again") });
  await edit(file, `${firstManifest}# mine\n`);
  expect(await cli(["accept", "bulkhead.yaml", "--digest", digest])).toEqual({
    code: 0,
    err: "",
    out: `Accepted: ${file}\n`,
  });
  expect(await cli(["accept", "bulkhead.yaml"])).toEqual({ code: 0, err: "", out: `Nothing to accept: ${file}\n` });
  expect((await cli(["plugin", "list"])).code).toBe(0);
});

test("at a terminal any command shows the difference, asks, and goes on after one key", async () => {
  const { file, during } = made;
  await during(() => edit(file, firstManifest.replace("deploy: {}", "deploy: { isolation: process }")));
  const denied = await cli(["run", "deploy", "go"], { typed: "n" });
  expect(denied.code).toBe(3);
  const { code, out, err } = await cli(["run", "deploy", "go"], { typed: "a" });
  expect(err).toContain(
    "  -   deploy: {}\n  +   deploy: { isolation: process }\nDid you, or a tool of yours, do that?\n",
  );
  expect(err).toContain("[a]ccept  [n]o");
  expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining("deployed") });
  expect((await cli(["run", "deploy", "go"])).code).toBe(0);
});

test("a changed plugin is told by list, doctor and run, and asked about at a terminal", async () => {
  const { project, during } = made;
  const code = join(project, "plugins", "deploy", "mod.js");
  const text = await readFile(code, "utf8");
  await during(() => edit(code, text.replace("deployed", "improved")));
  const listed = await cli(["plugin", "list"]);
  expect(listed).toMatchObject({ code: 0, err: "" });
  expect(listed.out).toMatch(
    /✘ deploy cannot be used [^]*it changed while an agent could write it\.\n[^]*~ mod\.js\n[^]*bulkhead accept /,
  );
  expect((await cli(["doctor"])).out).toContain("it changed while an agent could write it");
  expect(await cli(["run", "deploy", "go"])).toMatchObject({ code: 3, err: expect.stringContaining("~ mod.js") });
  expect((await cli(["run", "deploy", "go"], { typed: "a" })).out).toContain("improved");
});

test("a grant while an agent runs, then what the agent wrote over it", async () => {
  const { file, during } = made;
  const said = await during(
    async () => expect((await cli(["plugin", "grant", "agent", "net:example.com:443"])).code).toBe(0),
    "printf 'os_walls: {agents: off}\\n' >> bulkhead.yaml || echo held",
  );
  expect(said).toBe("held\n");
  expect(await readFile(file, "utf8")).toContain("example.com:443");
  expect((await cli(["plugin", "list"])).code).toBe(0);
});

test("a bulkhead.yaml that an agent made below is not used, and one of the person's is", async () => {
  const { project, agent } = made;
  await agent("mkdir sub; printf 'bulkhead: 1\\n' > sub/bulkhead.yaml");
  const cwd = join(project, "sub");
  expect(await cli(["plugin", "list"], { cwd })).toMatchObject({
    code: 3,
    err: expect.stringContaining("it appeared"),
  });
  await rm(join(cwd, "bulkhead.yaml"));
  expect((await cli(["plugin", "list"], { cwd })).code).toBe(0);
  expect((await cli(["init"], { cwd })).code).toBe(0);
  await agent("true");
  expect((await cli(["plugin", "list"], { cwd })).code).toBe(0);
});

test("a daemon refuses to reload what changed, says the command in its log, and takes it once it is accepted", async () => {
  const { root, project, file } = made;
  const stateDir = join(root, "state");
  const readManifest = async () => await loadHostManifest({ from: project }) ?? undefined;
  await writeFile(file, `${firstManifest}daemon: { port: 0 }\n`);
  const daemon = await startDaemon({ createHost, readManifest, root: project, stateDir, bundledDir: null });
  try {
    const session = await daemon.host.runSession(
      { workdir: project, prompt: "touch begun; while [ ! -e go ]; do sleep 0.05; done" },
      { adapter: "agent", artifacts: "none" },
    );
    await until(() => stat(join(project, "begun")).then(() => true, () => false));
    await edit(file, `${firstManifest}daemon: { port: 0 }\n# more\n`);
    for (const args of [["reload"], ["plugin", "grant", "agent", "net:example.com:443"]]) {
      expect(await cli(args)).toMatchObject({ code: 3, err: expect.stringContaining("+ # more") });
    }
    expect(await errorOf(daemon.reload())).toMatchObject({ code: "unaccepted_change" });
    const told = /the old one holds: .*bulkhead accept \S+ --digest (sha256:[0-9a-f]{64})/;
    const log = () => readFile(join(stateDir, "daemon.log"), "utf8");
    await until(async () => told.test(await log()));
    const [, digest = ""] = told.exec(await log()) ?? [];
    await writeFile(join(project, "go"), "");
    await session.result();
    expect(await cli(["accept", "bulkhead.yaml", "--digest", digest])).toMatchObject({ code: 0 });
    await daemon.reload();
  } finally {
    await daemon.stop({ drainMs: 0 });
  }
});

test("a broken bulkhead.lock that an agent made does not stand in the way of grants and runs", async () => {
  await made.agent("echo '{ broken' > bulkhead.lock");
  expect((await cli(["plugin", "grant", "agent", "net:example.com:443"])).code).toBe(0);
  expect(await cli(["run", "deploy", "go"])).toMatchObject({ code: 0, out: expect.stringContaining("deployed") });
  const doctor = await cli(["doctor"]);
  expect(doctor.out).toMatch(/bulkhead\.lock: it appeared while an agent could write it/);
});
