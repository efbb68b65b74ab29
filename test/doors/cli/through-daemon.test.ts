import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createHost, loadHostManifest } from "bulkhead";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { stateNow } from "../../../core/doors/cli/commands/state-now.ts";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import { type Daemon, startDaemon } from "../../../core/doors/daemon/daemon.ts";
import { adapterCode, completed, writePlugin } from "../../sessions/host/test-host.ts";
import { brokenLines } from "./broken-lines.ts";
import { fakeTerminal } from "./fake-terminal.ts";

let root = "";
let daemon: Daemon;
const work = () => join(root, "work");

const plugins =
  "writer: { grant: { write: [workdir] } }, asks: {}, talks: { grant: { env: [A_KEY] } }, off: { enabled: false }";

async function writeManifest(text = plugins): Promise<void> {
  await writeFile(join(root, "bulkhead.yaml"), `bulkhead: 1\nplugins: { ${text} }\ndaemon: { port: 0 }\n`);
}

beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "bh-through-")));
  await mkdir(work());
  const files = "permissions:\n  write: [workdir]";
  const plugin = (id: string, code: string) => writePlugin(join(root, "plugins", id), id, { code, manifest: files });
  const write = (name: string) =>
    adapterCode(`    await ctx.fs.writeText("${name}", request.prompt + "\\n");
    yield ${completed};`);
  await plugin("writer", write("a.txt"));
  await plugin("asks", write("asked.txt"));
  await plugin("off", write("off.txt"));
  await plugin("sleeps", adapterCode("    await ctx.sleep(600_000);"));
  await plugin(
    "wonders",
    adapterCode(
      `    yield { type: "question", request_id: "q", question: "Left or right?", options: ["left", "right"] };
    await ctx.answer("q");
    yield ${completed};`,
    ),
  );
  await plugin(
    "dares",
    adapterCode(
      `    const options = [{ id: "yes", label: "Allow once", kind: "allow_once" }, { id: "no", label: "Reject", kind: "reject_once" }];
    yield { type: "permission_request", request_id: "p", tool: "Bash", title: "Look around", kind: "execute", input: { command: "cd shop && rm -rf dist" }, options };
    await ctx.answer("p");
    yield ${completed};`,
    ),
  );
  const said = '`${request.continue_from ?? "new"}: ${request.prompt} ${JSON.stringify(request.params ?? {})}`';
  await writePlugin(join(root, "plugins", "talks"), "talks", {
    code: adapterCode(`    if (request.prompt !== "mute") yield { type: "agent_info", agent_session_id: "native-1" };
    yield { ...${completed}, output: ${said} };`),
    manifest:
      "accepts: [continue_from]\nconfig: { type: object, properties: { n: { type: integer } } }\npermissions: { env: [A_KEY] }",
  });
  await mkdir(join(root, "plugins", "broken"));
  await writeFile(join(root, "plugins", "broken", "plugin.yaml"), "manifest: 1\nid: broken\n");
  await writeManifest();
  await writeFile(join(work(), "a.txt"), "before\n");
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@localhost", "-C", work(), ...args]);
  git("init", "-q");
  git("add", ".");
  git("commit", "-qm", "first");
  daemon = await startDaemon({
    createHost,
    readManifest: async () => await loadHostManifest({ config: join(root, "bulkhead.yaml"), from: root }) ?? undefined,
    root,
    stateDir: join(root, "state"),
    bundledDir: null,
  });
});

beforeEach(async () => {
  await writeManifest();
  await daemon.reload();
});

afterAll(async () => {
  await daemon.stop({ drainMs: 0 });
  await rm(root, { recursive: true, force: true });
});

/** The command line beside the daemon; it makes a host of its own only where it is told to, or looks at what lies here. */
async function cli(
  args: string[],
  { stdin = "", tty = false, columns = 0, embedded = false, looks = false }: {
    stdin?: string;
    tty?: boolean;
    columns?: number;
    embedded?: boolean;
    looks?: boolean;
  } = {},
) {
  const all = [...args, "--config", join(root, "bulkhead.yaml"), "--state-dir", join(root, "state")];
  const terminal = fakeTerminal({ args: embedded ? [...all, "--embedded"] : all, cwd: work(), stdin, tty, columns });
  const made: string[] = [];
  const code = await runCli(terminal, {
    createHost: (options) => {
      made.push(args.join(" "));
      return createHost({ ...options, bundledDir: null });
    },
  });
  expect(made).toEqual(embedded || looks ? [args.join(" ")] : []);
  return { code, out: terminal.out(), err: terminal.err() };
}

async function sessionIn(adapter: string, prompt: string): Promise<string> {
  const { code, out, err } = await cli(["run", adapter, prompt, "--workspace", "worktree", "--json"]);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return (JSON.parse(out.split("\n")[0]!) as { session_id: string }).session_id;
}

test(
  "worktrees are listed, shown, applied, discarded and pruned in the daemon, with the words of a host here",
  async () => {
    const id = await sessionIn("writer", "by the agent");
    const other = await sessionIn("writer", "never");
    // A worktree is closed after its session's last event.
    const listed = async () => (await cli(["session", "list", "--worktrees", "--json"])).out;
    await expect.poll(listed, { timeout: 10_000 }).not.toContain('"ended_at":null');
    for (const args of [["diff", id], ["diff", id, "--stat"], ["diff", id.slice(0, 20), "--json"]]) {
      const [there, here] = [await cli(["session", ...args]), await cli(["session", ...args], { embedded: true })];
      expect(there).toEqual(here);
      expect(there).toMatchObject({ code: 0, err: "" });
    }
    // The daemon names the session and its agent as well.
    const here = (await cli(["session", "list", "--worktrees", "--json"], { embedded: true })).out;
    const rowsOf = (out: string) => out.trimEnd().split("\n").map((line) => JSON.parse(line) as object);
    expect(rowsOf(await listed())).toMatchObject(rowsOf(here));
    expect((await cli(["session", "diff", id])).out).toContain("+by the agent\n");
    const applied = await cli(["session", "apply", id]);
    expect(applied).toEqual({ code: 0, err: "", out: `modified  a.txt\nApplied to ${work()}.\n` });
    expect(await readFile(join(work(), "a.txt"), "utf8")).toBe("by the agent\n");
    const conflict = await cli(["session", "apply", other]);
    expect(conflict.code).toBe(3);
    expect(conflict.err).toContain("conflict  a.txt\n");
    expect((await cli(["session", "discard", other])).out).toBe(`Discarded: ${other.slice(0, 8)}.\n`);
    expect((await cli(["session", "apply", other])).code).toBe(2);
    expect((await cli(["session", "prune", "--json"])).out).toBe('{"removed":[],"failed":[]}\n');
    const shown = JSON.parse((await cli(["session", "show", id, "--json"])).out) as object;
    expect(shown).toMatchObject({
      grants: [{ attempt: 1, adapter_id: "writer", permissions: { write: expect.any(Array) } }],
      attempts: [{ attempt: 1, adapter_id: "writer", error_code: null }],
      children: [],
    });
  },
  60_000,
);

test("a person sees what waits and what runs, and stops all of it, or what one agent does", async () => {
  const stateOf = async () => {
    const args = ["--config", join(root, "bulkhead.yaml"), "--state-dir", join(root, "state")];
    const terminal = fakeTerminal({ args, cwd: work(), tty: true, columns: 80 });
    expect(await runCli(terminal)).toBe(0);
    return terminal.out();
  };
  await writeManifest("wonders: {}, sleeps: {}");
  await daemon.reload();
  const empty = await mkdtemp(join(tmpdir(), "bulkhead-none-"));
  const without = (configFile?: string) =>
    stateNow({ terminal: fakeTerminal({ cwd: empty, tty: true, columns: 80 }), configFile, stateDir: empty });
  expect(await without()).toMatch(/^ no agent is enabled here {3}no daemon runs\n[^]*bulkhead setup /);
  expect(await without(join(root, "bulkhead.yaml"))).toMatch(
    /^ enabled here: wonders, sleeps [^]*bulkhead run wonders /,
  );
  await rm(empty, { recursive: true });
  expect(await stateOf()).toMatch(/^ no session runs {3}http:/);
  expect((await cli(["session", "interrupt", "--all"])).out).toBe("No session runs.\n");
  const runs = ["wonders", "wonders", "sleeps"].map((adapter) =>
    cli(["run", adapter, "go", "--quiet", "--answer-timeout", "60s"])
  );
  await expect.poll(stateOf, { timeout: 20_000 }).toMatch(/^ 2 wait for you, 1 runs [^]*sleeps/);
  const state = await stateOf();
  for (const line of ["wonders", "asks: Left or right?", "sleeps", "bulkhead session answer <id> <choice>"]) {
    expect(state).toContain(line);
  }
  expect(state.split("\n").every((line) => line.length <= 80)).toBe(true);
  expect((await cli(["status"])).out).toContain("3 running, 2 of them waiting for an answer");
  expect((await cli(["session", "interrupt"])).code).toBe(2);
  expect((await cli(["session", "interrupt", "3f2a", "--all"])).code).toBe(2);
  const { code, out } = await cli(["session", "interrupt", "--all", "--agent", "wonders", "--json"]);
  expect(code).toBe(0);
  expect(JSON.parse(out)).toEqual({
    ended: Array(2).fill({ session_id: expect.any(String), outcome: "error", stop_reason: "interrupted" }),
    failed: [],
  });
  expect(await stateOf()).toMatch(/^ 1 runs /);
  expect((await cli(["session", "interrupt", "3f2a", "--yes"])).code).toBe(2);
  const asked = await cli(["session", "interrupt", "--all"], { tty: true, stdin: "no\n" });
  expect(asked.err).toMatch(/session +adapter +age +prompt\n.*sleeps +.*go\n[^]*Stop this session\?/);
  expect(asked.out).toBe("None is stopped.\n");
  expect(await stateOf()).toMatch(/^ 1 runs /);
  expect((await cli(["session", "interrupt", "--all"], { tty: true, stdin: "stop\n" })).out).toMatch(
    /^Ended: [\w-]+, error · interrupted\.\n$/,
  );
  expect((await Promise.all(runs)).map(({ code }) => code)).toEqual([130, 130, 130]);
  expect(await stateOf()).toMatch(/^ no session runs/);
}, 60_000);

test("session show gives what a tool would do that waits, not the agent's word alone, and breaks no word", async () => {
  await writeManifest("dares: {}");
  await daemon.reload();
  const prompt = "Make the rounding of all totals exact, then tell what was changed and why it was wrong until now";
  const run = cli(["run", "dares", prompt, "--quiet", "--answer-timeout", "60s"]);
  const list = () => cli(["session", "list", "--state", "running", "--json"]);
  await expect.poll(async () => (await list()).out, { timeout: 20_000 }).toContain("Look around");
  const { session_id } = JSON.parse((await list()).out) as { session_id: string };
  for (const columns of [40, 80]) {
    const { out } = await cli(["session", "show", session_id], { tty: true, columns });
    expect(out).toMatch(/waits +p: Look around \(yes, no\)/);
    expect(out).toMatch(/^ p: Bash\n {2}. cd shop && rm -rf dist$/m);
    expect(brokenLines(out, columns)).toEqual([]);
  }
  await cli(["session", "interrupt", "--all", "--yes"]);
  await run;
}, 60_000);

test("plugins are shown as they are in the daemon, with the words of a host here", async () => {
  for (
    const args of [["list"], ["list", "--json"], ["explain", "asks"], ["explain", "asks", "--json"], ["info", "asks"]]
  ) {
    const [there, here] = [await cli(["plugin", ...args]), await cli(["plugin", ...args], { embedded: true })];
    expect(there).toEqual(here);
    expect(there.code).toBe(0);
  }
  expect((await cli(["plugin", "list"])).out).toContain("✘ broken");
  // What the file says and nobody reloaded is not in force.
  await writeManifest("writer: {}");
  const state = async (id: string) => {
    const lines = (await cli(["plugin", "list", "--json"])).out.trimEnd().split("\n");
    return lines.map((line) => JSON.parse(line) as { id: string; enabled: boolean }).find((one) => one.id === id)
      ?.enabled;
  };
  expect(await state("asks")).toBe(true);
  await daemon.reload();
  expect(await state("asks")).toBe(false);
  const [there, here] = [
    await cli(["plugin", "info", "nobody"]),
    await cli(["plugin", "info", "nobody"], { embedded: true }),
  ];
  expect(there).toEqual(here);
  expect(there.code).toBe(5);
}, 60_000);

test(
  "run and plugin list say that a plugin's files changed since the daemon loaded them, until it reloads",
  async () => {
    const [mod, note] = [
      join(root, "plugins", "talks", "mod.js"),
      "talks's files changed since the daemon loaded them: ",
    ];
    expect((await cli(["run", "talks", "hi"])).err).not.toContain(note);
    const code = await readFile(mod, "utf8");
    await writeFile(mod, code.replace("native-1", "native-2 "));
    expect((await cli(["run", "talks", "hi"])).err).toBe(`${note}bulkhead reload\n`);
    expect((await cli(["run", "talks", "hi", "--quiet"])).err).toBe("");
    expect((await cli(["run", "writer", "hi", "--workspace", "worktree"])).err).not.toContain(note);
    expect((await cli(["plugin", "list"])).out).toContain(`${note}bulkhead reload\n`);
    await writeFile(mod, code);
    await daemon.reload();
    expect((await cli(["run", "talks", "hi"])).err).not.toContain(note);
  },
  60_000,
);

test("a plugin that is granted, revoked, enabled or disabled is so in the daemon at once", async () => {
  const plugin = (id: string) => daemon.host.registry.get(id)!;
  const taken = "The daemon now uses it.\n";
  expect(await cli(["plugin", "grant", "asks", "write:workdir"])).toMatchObject({ code: 0, err: taken });
  expect(plugin("asks").grant).toEqual({ write: ["workdir"] });
  expect(await cli(["plugin", "grant", "asks", "write:workdir"])).toMatchObject({ code: 0, err: "" });
  expect(await cli(["plugin", "revoke", "asks", "write:workdir"])).toMatchObject({ code: 0, err: taken });
  expect(plugin("asks").grant.write ?? []).toEqual([]);
  expect(await cli(["plugin", "disable", "asks"])).toMatchObject({ code: 0, err: taken });
  expect(plugin("asks").enabled).toBe(false);
  // One that was put into the folder since is not known to the daemon yet, so what lies there is looked at here.
  expect(await cli(["plugin", "enable", "off"], { looks: true })).toMatchObject({ code: 0, err: taken });
  expect(plugin("off").enabled).toBe(true);
  expect((await cli(["plugin", "grant", "--help"])).out).toContain("takes the change over");
}, 60_000);

test("session continue and session rerun go on from an earlier session, in the daemon and here", async () => {
  const start = async (...args: string[]) => {
    const { out } = await cli(["run", "talks", ...args, "--json"]);
    return (JSON.parse(out.split("\n")[0]!) as { session_id: string }).session_id;
  };
  const id = await start("first", "--param", "n=1", "--label", "team=a");
  const mute = await start("mute");
  for (const embedded of [false, true]) {
    const session = (...args: string[]) => cli(["session", ...args], { embedded });
    expect(await session("continue", id, "more", "-q"))
      .toEqual({ code: 0, out: `native-1: more {"n":${embedded ? 3 : 1}}\n`, err: "" });
    const other = await session("say", id, "again", "--param", "n=3", "--label", "by=you", "--timeout", "1m", "--json");
    expect(other.out).toContain('native-1: again {\\"n\\":3}');
    expect(other.out).toContain('"labels":{"team":"a","by":"you"}');
    expect((await session("rerun", id, "-q")).out).toBe('new: first {"n":1}\n');
    const changed = await session("rerun", id, "-p", "other", "--param", "n=2", "--label", "by=me", "--json");
    expect(changed.out).toContain('new: other {\\"n\\":2}');
    expect(changed.out).toContain('"labels":{"team":"a","by":"me"}');
    // An agent that named no session of its own is told what was before; by its second turn it has one.
    const told = (await session("continue", mute, "more", "-q")).out;
    expect(told).toMatch(embedded ? /^native-1: more/ : /^new: [^]*mute[^]*more/);
    expect((await session("rerun", id, "--agent", "off")).err).toContain("bulkhead plugin enable off");
  }
}, 60_000);

test("session rerun asks for the values of env, which are never kept", async () => {
  const { out } = await cli(["run", "talks", "hello", "--best-effort", "-e", "A_KEY=secret", "--json"]);
  expect(out).not.toContain("secret");
  const { session_id } = JSON.parse(out.split("\n")[0]!) as { session_id: string };
  expect(await cli(["session", "rerun", session_id])).toMatchObject({
    code: 2,
    err: expect.stringContaining("Give them again: -e A_KEY=…"),
  });
}, 60_000);

test("an adapter that is not enabled is refused with the command that enables it, in the daemon and here", async () => {
  for (
    const [adapter, hint] of [
      ["off", "bulkhead plugin enable off"],
      ["asks,off", "bulkhead plugin enable off"],
      ["nobody", "Enabled are: asks, talks, writer."],
    ] as const
  ) {
    for (const command of ["run", "loop"]) {
      const args = [command, adapter, "hello"];
      const [there, here] = [await cli(args), await cli(args, { embedded: true })];
      const unknown = adapter.split(",").at(-1);
      expect(there).toEqual({
        code: 5,
        out: "",
        err: `error: No enabled adapter has the id "${unknown}".\n  ${hint}\n`,
      });
      expect(here).toEqual(there);
    }
  }
  await writeManifest("");
  await daemon.reload();
  const { code, err } = await cli(["run", "hello"]);
  expect({ code, err }).toEqual({
    code: 5,
    err: expect.stringMatching(/^error: No adapter is enabled\.\n {2}Find the agents/),
  });
}, 60_000);

test("a missing grant is asked for at the terminal, granted in the daemon, and the session started again", async () => {
  const command = "bulkhead plugin grant asks write:workdir";
  const unattended = await cli(["run", "asks", "hello"]);
  expect(unattended.code).not.toBe(0);
  expect(unattended.err + unattended.out).toContain(command);
  const refused = await cli(["run", "asks", "hello"], { tty: true, stdin: "no" });
  expect(refused.code).toBe(unattended.code);
  expect(refused.err).toContain('The plugin "asks" asks to write and remove files in the working directory');
  expect(refused.err).toContain(command);
  await expect(readFile(join(work(), "asked.txt"))).rejects.toThrow();
  const granted = await cli(["run", "asks", "hello"], { tty: true, stdin: "always" });
  expect(granted).toMatchObject({ code: 0, err: expect.stringContaining("Granted. Starting again.") });
  expect(await readFile(join(work(), "asked.txt"), "utf8")).toBe("hello\n");
  expect(await readFile(join(root, "bulkhead.yaml"), "utf8")).toContain("workdir");
  expect((await cli(["run", "asks", "again"])).code).toBe(0);
}, 60_000);

test("a loop asks for a missing grant as well, and runs the same iteration again", async () => {
  const command = "bulkhead plugin grant asks write:workdir";
  const args = ["loop", "asks", "hello", "--max-iterations", "2"];
  await rm(join(work(), "asked.txt"), { force: true });
  const refused = await cli(args, { tty: true, stdin: "no" });
  expect(refused.code).not.toBe(0);
  expect(refused.err).toContain(command);
  await expect(readFile(join(work(), "asked.txt"))).rejects.toThrow();
  const keyed = await cli([...args, "--idempotency-key", "k"], { tty: true, stdin: "always" });
  expect(keyed.err + keyed.out).toContain(command);
  expect(keyed.err).not.toContain("Granted.");
  const granted = await cli(args, { tty: true, stdin: "always" });
  // The agent never says that it is done.
  expect(granted).toMatchObject({ code: 9, err: expect.stringContaining("Granted. Starting again.") });
  expect(granted.out.match(/Iteration \d of 2/g)).toEqual(["Iteration 1 of 2", "Iteration 1 of 2", "Iteration 2 of 2"]);
  expect(await readFile(join(work(), "asked.txt"), "utf8")).toContain("hello");
  const unattended = await cli(args);
  expect(unattended).toMatchObject({ code: 9, err: "" });
}, 60_000);
