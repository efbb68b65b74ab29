import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { commandGroups } from "../../../core/doors/cli/commands.ts";
import { watchInterrupts } from "../../../core/doors/cli/interrupts.ts";
import { createProgram } from "../../../core/doors/cli/program.ts";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import { hostBuild, hostVersion } from "../../../core/ground/config/version.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { PermissionOption } from "../../../plugin-sdk/events.ts";
import { fakeAgent, fakeHost, type FakeHostOptions, fakePlugin, fakeResult } from "./fake-host.ts";
import { subscription } from "../../sessions/routing/modes.ts";
import { fakeTerminal, type FakeTerminalOptions } from "./fake-terminal.ts";

const commands = commandGroups.flatMap((group) => group.commands);

let cwd = "";
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), "bulkhead-cli-"));
  await writeFile(join(cwd, "bulkhead.yaml"), "bulkhead: 1\nplugins:\n  alpha: {}\n");
});
afterEach(() => rm(cwd, { recursive: true }));

interface Given extends FakeTerminalOptions {
  host?: FakeHostOptions;
}

async function cli(args: string[], { host: given, ...options }: Given = {}) {
  const terminal = fakeTerminal({ args, cwd, ...options });
  const host = fakeHost(given);
  const code = await runCli(terminal, { createHost: host.create });
  return { code, out: terminal.out(), err: terminal.err(), host, terminal };
}

test("bulkhead without arguments, and with --help, lists every command", async () => {
  for (const args of [[], ["--help"], ["help"]]) {
    const { code, out, err } = await cli(args);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    for (const { name, summary } of commands.filter(({ hidden }) => hidden !== true)) {
      expect(out).toContain(`${name}`.padEnd(8).trimEnd()), expect(out).toContain(summary);
    }
    expect(out).toContain("Examples:");
  }
});

test.each([
  ["run"],
  ["loop"],
  ["agents"],
  ["plugin"],
  ["plugin list"],
  ["plugin check"],
  ["plugin explain"],
  ["plugin grant"],
  ["session"],
  ["session list"],
  ["session diff"],
  ["session apply"],
  ["session discard"],
  ["session prune"],
  ["secret"],
  ["secret set"],
  ["secret list"],
  ["secret rm"],
  ["doctor"],
  ["init"],
  ["demo"],
  ["completion"],
])("bulkhead %s --help shows usage, examples and the flags of every command", async (path) => {
  const { code, out, err } = await cli([...path.split(" "), "--help"]);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).toContain(`Usage: bulkhead ${path}`);
  expect(out).toContain(`\n  bulkhead ${path}`.slice(1));
  for (const flag of ["--json", "--config", "--state-dir", "--help"]) expect(out).toContain(flag);
  expect(out).not.toContain("\n\n\n");
  // A paragraph fills its lines: none ends where the next word had room.
  const lines = out.split("\n");
  const short = lines.filter((line, at) => {
    const next = lines[at + 1] ?? "";
    return /^\S/.test(line) && /^\S/.test(next) && `${line} ${next.split(" ")[0]}`.length <= 100;
  });
  expect(short).toEqual([]);
});

test("bulkhead --version is the package's version", async () => {
  const text = await readFile(new URL("../../../package.json", import.meta.url), "utf8");
  expect(hostVersion).toBe(JSON.parse(text).version);
  expect(await cli(["--version"])).toMatchObject({ code: 0, out: `${hostBuild}\n` });
  expect(hostBuild).toMatch("Deno" in globalThis ? /^[\d.]+$/ : /^[\d.]+(\+[0-9a-f]{12})?$/);
});

test("bulkhead help errors lists each exit code with its stop reasons", async () => {
  const { code, out } = await cli(["help", "errors"]);
  expect(code).toBe(0);
  expect(out).toMatch(/\n +0\n +Meaning: done .* end_turn, loop_complete/);
  expect(out).toMatch(/\n +130\n +Meaning: interrupted/);
});

test.each([
  [["exit-codes"], "bulkhead help errors"],
  [["help", "exit-codes"], "bulkhead help errors"],
  [["config", "schema"], "bulkhead schema host"],
  [["run", "--agent", "alpha", "Do it."], "bulkhead run [adapter] <prompt>"],
  [["run", "alpha", "-p", "Do it."], "bulkhead run [adapter] <prompt>"],
  [["loop", "alpha", "--prompt=Do it."], "bulkhead loop [adapter] <prompt>"],
  [["session", "continue", "3f2a", "--prompt", "more"], "bulkhead session say <id> [text]"],
])("bulkhead %j names the one way that there is", async (args, way) => {
  const { code, err } = await cli(args);
  expect(code).toBe(args[0] === "help" ? 5 : 2);
  expect(err).toContain(way);
});

test("bulkhead names the command in its hint, also behind a flag that takes a value", async () => {
  const { code, err } = await cli(["--state-dir", "state", "attack", "A1", "B2"]);
  expect(code).toBe(2);
  expect(err).toContain("For its usage: bulkhead attack --help");
});

test("bulkhead answers wrong usage with a sentence, a hint and exit code 2", async () => {
  const unknown = await cli(["run", "--zzzzzzzz"]);
  expect(unknown).toMatchObject({ code: 2, out: "" });
  expect(unknown.err).toBe("error: Unknown option '--zzzzzzzz'.\n  For its usage: bulkhead run --help\n");
  const close = await cli(["runn"]);
  expect(close.err).toBe("error: Unknown command 'runn'.\n  Did you mean run?\n");
  const value = await cli(["run", "--timeout", "soon", "x"]);
  expect(value.err).toContain("--timeout");
  expect(value.err).toContain("Expected a time with its unit");
});

const program = await createProgram({
  terminal: fakeTerminal({ args: [], cwd: tmpdir() }),
  createHost: fakeHost().create,
  exit: { code: 0 },
  whole: true,
});
const groups = program.commands.filter((command) => command.commands.length > 0).map((command) => command.name());

test("every group has its sub-commands in the list of commands", () => {
  expect(groups).toEqual(expect.arrayContaining(["cluster", "config", "journal", "plugin", "secret", "service"]));
});

test.each(groups)(
  "bulkhead %s without a sub-command shows its help, and with --json a typed error alone",
  async (group) => {
    const { code, out, err } = await cli([group]);
    expect({ code, err }).toEqual({ code: 2, err: "" });
    expect(out).toContain(`Usage: bulkhead ${group}`);

    const json = await cli([group, "--json"]);
    expect(json.code).toBe(2);
    expect(JSON.parse(json.out).error).toMatchObject({
      code: "invalid_config",
      message: expect.stringMatching(new RegExp(`^Name a sub-command of "bulkhead ${group}": [a-z, -]+\\.$`)),
      hint: `For its usage: bulkhead ${group} --help`,
    });

    const [first] = program.commands.find((command) => command.name() === group)?.commands ?? [];
    expect((await cli([group, first?.name() ?? "", "--zzzzzzzz"])).err).toContain(
      `bulkhead ${group} ${first?.name()} --help`,
    );
  },
);

test("bulkhead knows short forms, and where a command is that people try", async () => {
  const { out: version } = await cli(["--version"]);
  for (const short of ["-v", "version"]) expect(await cli([short])).toMatchObject({ code: 0, out: version });
  expect((await cli(["ls"])).out).toBe((await cli(["session", "list"])).out);
  expect((await cli(["ps", "--help"])).out).toContain("list sessions");
  expect((await cli(["install", "greeter"])).err).toContain("bulkhead plugin add greeter");
  expect((await cli(["uninstall"])).err).toContain("bulkhead service uninstall");
  expect((await cli(["plugin", "new"])).err).toContain("bulkhead plugin new --help");
  expect((await cli(["help", "plugin", "new"])).out).toContain("bulkhead plugin new");
});

test("bulkhead plugin grant takes several permissions, refuses unknown plugins, and deny takes precedence", async () => {
  const both = await cli(["plugin", "grant", "alpha", "read:workdir", "net:example.com:443"]);
  expect(both.out.match(/^Granted/gm)).toHaveLength(2);
  expect(await cli(["plugin", "grant", "alpha", "read:workdir", "nonsense"])).toMatchObject({ code: 2, out: "" });
  expect((await cli(["plugin", "deny", "alpha", "net:example.com:443"])).out).toContain("may not net example.com:443");
  const text = await readFile(join(cwd, "bulkhead.yaml"), "utf8");
  expect(text).toMatch(/grant:[^]*example\.com:443[^]*deny:[^]*example\.com:443/);
  await writeFile(join(cwd, "bulkhead.yaml"), "bulkhead: 1\n");
  expect((await cli(["plugin", "deny", "replay", "write:workdir"])).code).toBe(0);
  expect(await readFile(join(cwd, "bulkhead.yaml"), "utf8")).toMatch(/replay:\n\s+enabled: false\n\s+deny:/);
  const { out } = await cli(["plugin", "grant", "replay", "write:workdir"]);
  expect(out).toMatch(/^Granted, with no effect: write workdir .*\nNote: replay is denied it as well/);
  await writeFile(join(cwd, "bulkhead.yaml"), "bulkhead: 1\n");
  expect(await cli(["plugin", "grant", "nope", "read:workdir"])).toMatchObject({ code: 5, out: "" });
  expect(await readFile(join(cwd, "bulkhead.yaml"), "utf8")).toBe("bulkhead: 1\n");
});

test("bulkhead --json prints an error as JSON as well", async () => {
  const { code, out, err } = await cli(["run", "nobody", "Do it.", "--json"]);
  expect(code).toBe(5);
  expect(JSON.parse(out)).toMatchObject({ error: { code: "unknown_adapter", details: { enabled: ["alpha"] } } });
  expect(err).toMatch(/^error: No enabled adapter has the id "nobody"\./);
});

test("bulkhead colours only when told to", async () => {
  const events = [{ type: "progress", message: "hi" } as const];
  expect((await cli(["run", "alpha", "x"], { host: { events } })).out).not.toContain("\u001b");
  expect((await cli(["run", "alpha", "x"], { host: { events }, colours: true })).out).toContain(
    "\u001b[32m✔ completed",
  );
});

test("bulkhead run --record records the session and says what is not in it, on standard error", async () => {
  const host = { leftOut: [{ path: "link", reason: "it is a symlink" }] };
  const { code, out, err, host: fake } = await cli(["run", "alpha", "Do it.", "--record", "r.jsonl", "--quiet"], {
    host,
  });
  expect({ code, out }).toEqual({ code: 0, out: "All done.\n" });
  expect(fake.recorded).toEqual([join(cwd, "r.jsonl")]);
  expect(err).toBe([
    `Recorded: ${join(cwd, "r.jsonl")} (2 events, 3 files, 1 B).`,
    "  not in it: link, it is a symlink",
    "To play it: bulkhead plugin enable replay",
    'Then: bulkhead run replay "again" --param recording=./r.jsonl',
    "",
  ].join("\n"));
});

test("bulkhead run --record refuses a file that is there before it runs anything, but for --force", async () => {
  await writeFile(join(cwd, "r.jsonl"), "mine");
  const refused = await cli(["run", "alpha", "Do it.", "--record", "r.jsonl"]);
  expect(refused).toMatchObject({ code: 2, out: "" });
  expect(refused.err).toContain("--force");
  expect(refused.host.requests).toEqual([]);
  expect((await cli(["run", "alpha", "Do it.", "--record", "r.jsonl", "--force"])).host.recorded).toHaveLength(1);
});

test("bulkhead run sends the request to the adapter and shows events and result", async () => {
  const { code, out, host } = await cli(["run", "alpha", "Do it.", "--timeout", "5s", "--label", "a=b"], {
    host: { events: [{ type: "output", stream: "stdout", data: "hello" }] },
  });
  expect(code).toBe(0);
  expect(host.requests).toEqual([{
    adapter: "alpha",
    request: { answer_timeout_ms: 0, workdir: cwd, prompt: "Do it.", timeout_ms: 5000, labels: { a: "b" } },
  }]);
  expect(out).toBe([
    " hello",
    "",
    " ✔ completed · end_turn · 2.1 s · 2 events · session s1",
    "   600 tokens in · 120 out · $0.0036 · model-x",
    "   no files changed",
    "",
  ].join("\n"));
  expect(host.closed).toBe(1);
  expect(host.options[0]).toMatchObject({ root: cwd, manifest: { file: join(cwd, "bulkhead.yaml") } });
});

test("bulkhead run takes the only enabled adapter and a piped prompt", async () => {
  const { host } = await cli(["run"], { stdin: "From a pipe." });
  expect(host.requests).toMatchObject([{ adapter: "alpha", request: { prompt: "From a pipe." } }]);
});

test("bulkhead run takes an adapter or a chain, and then the prompt", async () => {
  const plugins = [fakePlugin("alpha"), fakePlugin("beta")];
  const one = await cli(["run", "beta", "alpha"], { host: { plugins } });
  expect(one.host.requests).toMatchObject([{ adapter: "beta", request: { prompt: "alpha" } }]);
  expect(one.host.routes).toEqual([]);
  const chain = await cli(["run", "beta,alpha", "Do it."], { host: { plugins } });
  expect(chain.host.routes).toMatchObject([{ adapter: ["beta", "alpha"], request: { prompt: "Do it." } }]);
  const piped = await cli(["run", "beta,alpha"], { host: { plugins }, stdin: "From a pipe." });
  expect(piped.host.routes).toMatchObject([{ adapter: ["beta", "alpha"], request: { prompt: "From a pipe." } }]);
  expect(await cli(["run", "beta", "alpha", "Do it."], { host: { plugins } })).toMatchObject({ code: 2 });
  const unknown = await cli(["run", "beta,nobody", "Do it."], { host: { plugins } });
  expect(unknown).toMatchObject({ code: 5 });
  expect(unknown.err).toContain('"nobody"');
});

test("bulkhead run without an adapter says who takes the session and why others do not", async () => {
  const host: FakeHostOptions = {
    plugins: [fakePlugin("alpha"), fakePlugin("beta"), fakePlugin("gamma")],
    route: {
      candidates: [{ adapter_id: "beta", access_mode: subscription(), further_modes: [] }, {
        adapter_id: "gamma",
        access_mode: null,
        further_modes: [],
      }],
      passed_over: [{ adapter_id: "alpha", code: "unavailable", reason: "It is not logged in.", next_step: "Log in." }],
    },
  };
  const args = ["run", "Do it.", "--model", "m", "--require", "code_review", "--require", "max_context_tokens=100000"];
  const { host: used, err } = await cli([...args, "--require", "custom.x"], { host });
  expect(used.routes).toMatchObject([{
    adapter: "auto",
    require: { code_review: true, max_context_tokens: 100_000, custom: { x: true } },
    request: { prompt: "Do it.", model: "m" },
  }]);
  expect(used.requests).toMatchObject([{ adapter: ["beta", "gamma"], request: { prompt: "Do it.", model: "m" } }]);
  expect(err).toBe("agent: beta (subscription), then gamma\n  not alpha: It is not logged in. Log in.\n");
  expect((await cli([...args, "-q"], { host })).err).toBe("");
  const chain = await cli(["run", "alpha,beta", "--timeout", "2m", "Do it."], { host });
  expect(chain.host.routes).toMatchObject([{ request: { timeout_ms: 120_000 } }]);
  expect(chain.host.requests).toMatchObject([{ adapter: ["alpha", "beta"] }]);
});

test.each([
  "speed",
  "code_review=1",
  "max_context_tokens",
  "max_context_tokens=0",
  "max_context_tokens=1=2",
  "custom.",
])(
  "bulkhead run --require %s is refused with what it may be",
  async (required) => {
    const { code, err } = await cli(["run", "alpha", "x", "--require", required]);
    expect(code).toBe(2);
    expect(err).toContain("max_context_tokens=<n>");
  },
);

test("bulkhead agents lists each agent with its state, reason and next step, and marks the primary", async () => {
  const agents = [
    fakeAgent("alpha", {
      availability: "unauthenticated",
      reason: "It is not\u001b[2J logged in.",
      next_step: "Log in.",
    }),
    fakeAgent("beta", { primary: true, capabilities: { code_review: true }, settings_of: "codex" }),
  ];
  const { code, out, err } = await cli(["agents"], { host: { agents } });
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).not.toContain("\u001b");
  expect(out).toMatch(/alpha +✘ unauthenticated +9\.9 +It is not.* logged in\.\n +→ Log in\.\n/);
  expect(out).toMatch(/beta \* +✔ available +9\.9 +It is here\. It has the settings of codex\./);
  expect(out).toContain("* takes a session that names no adapter");
  const able = await cli(["agents", "--require", "code_review", "--json"], { host: { agents } });
  expect(able.out.trimEnd().split("\n").map((line) => JSON.parse(line))).toEqual([agents[1]]);
  const lacking = fakeAgent("delta", { availability: "unrunnable", next_step: "bulkhead plugin grant delta run:x" });
  expect((await cli(["agents"], { host: { agents: [lacking] } })).out).toContain(
    "\n all that delta asks for: bulkhead plugin explain delta\n",
  );
  const disabled = fakeAgent("gamma", { availability: "disabled" });
  const short = await cli(["agents"], { host: { agents: [...agents, disabled] } });
  expect(short.out).toContain("1 more is not enabled: bulkhead agents --all");
  expect(short.out).not.toContain("gamma");
  expect((await cli(["agents", "--all"], { host: { agents: [...agents, disabled] } })).out).toContain("gamma");
});

test("bulkhead agents and doctor show an agent in quarantine first, with the way out", async () => {
  const broken = fakeAgent("shaky", {
    availability: "disabled",
    quarantined: true,
    reason: "It crashed.",
    next_step: "bulkhead plugin release shaky",
  });
  const host = { agents: [fakeAgent("alpha"), broken] };
  const { out } = await cli(["agents"], { host });
  expect(out).toMatch(/^[^]*shaky +✘ quarantined +[^]*bulkhead plugin release shaky[^]*alpha/);
  expect(out).not.toContain("not enabled");
  expect((await cli(["doctor"], { host })).out).toMatch(
    /Agents\n +shaky +✘ quarantined[^]*plugin release shaky[^]*alpha/,
  );
});

test("bulkhead agents exits with 6 when none is available, and shows a person that it is asking", async () => {
  const agents = [fakeAgent("alpha", { availability: "missing" })];
  const { code, err } = await cli(["agents", "--refresh"], { host: { agents }, tty: true });
  expect({ code, err }).toEqual({ code: 6, err: "Asking 1 agent …\r\u001b[K" });
  const none = await cli(["agents", "--require", "testing"], { host: { agents } });
  expect(none).toMatchObject({ code: 6, out: "No agent was found that can do this.\n" });
});

test("bulkhead run passes --config and --state-dir on", async () => {
  await writeFile(join(cwd, "other.yaml"), "bulkhead: 1\n");
  const { host } = await cli(["run", "alpha", "x", "--config", "other.yaml", "--state-dir", "state"]);
  expect(host.options[0]).toMatchObject({ manifest: { file: join(cwd, "other.yaml") }, stateDir: join(cwd, "state") });
  expect(await cli(["run", "x", "--config", "none.yaml"])).toMatchObject({ code: 5 });
});

test("bulkhead run --json prints one envelope a line", async () => {
  const { out } = await cli(["run", "alpha", "x", "--json"], {
    host: { events: [{ type: "progress", message: "hi" }] },
  });
  const lines = out.trimEnd().split("\n").map((line) => JSON.parse(line));
  expect(lines.map(({ event }) => event.type)).toEqual(["progress", "session_ended"]);
});

test("bulkhead run --quiet prints the final output alone", async () => {
  const { out, err } = await cli(["run", "alpha", "x", "-q"], {
    host: { events: [{ type: "progress", message: "hi" }] },
  });
  expect({ out, err }).toEqual({ out: "All done.\n", err: "" });
});

test.each([
  [fakeResult({ stop_reason: "loop_complete" }), 0],
  [fakeResult({ stop_reason: "permission_deadline" }), 3],
  [fakeResult({ stop_reason: "timeout" }), 7],
  [fakeResult({ stop_reason: "crash", error: { code: "out_of_memory", message: "No memory." } }), 8],
  [fakeResult({ stop_reason: "fatal", error: { code: "fatal", message: "It failed." } }), 1],
  [fakeResult({ stop_reason: "fatal", error: { code: "permission_denied", message: "Not granted." } }), 4],
])("bulkhead run exits by outcome (%#)", async (result, expected) => {
  expect((await cli(["run", "alpha", "x"], { host: { result } })).code).toBe(expected);
});

test("bulkhead run shows the command that grants what was denied", async () => {
  const grant_command = "bulkhead plugin grant alpha run:git";
  const result = fakeResult({ stop_reason: "fatal", error: { code: "permission_denied", message: "Not granted." } });
  const { err } = await cli(["run", "alpha", "x"], {
    host: {
      result,
      events: [{ type: "capability", permission: "run", target: "git", decision: "denied", grant_command }],
    },
  });
  expect(err).toContain(`\n  ${grant_command}\n`);
});

test("bulkhead run turns the first Ctrl-C into an interrupt and the second into an exit", async () => {
  const terminal = fakeTerminal({ args: ["run", "alpha", "x"], cwd });
  const host = fakeHost({
    during: (signal) => {
      terminal.interrupt();
      expect(signal.aborted).toBe(true);
      expect(terminal.exits).toEqual([]);
      terminal.interrupt();
      expect(terminal.exits).toEqual([130]);
    },
  });
  expect(await runCli(terminal, { createHost: host.create })).toBe(130);
  expect(terminal.err()).toContain("Press Ctrl-C again");
  expect(host.closed).toBe(1);
  terminal.interrupt();
  expect(terminal.exits).toEqual([130]);
});

test("watchInterrupts says at the first Ctrl-C what it did, and nothing for a command that ends at once", () => {
  const said = (note?: string | null) => {
    const terminal = fakeTerminal();
    using interrupts = watchInterrupts(terminal, note === undefined ? {} : { note });
    terminal.interrupt();
    expect(interrupts.signal.aborted).toBe(true);
    return terminal.err();
  };
  expect(said()).toBe("\nInterrupting. Press Ctrl-C again to exit at once.\n");
  expect(said("Stopped watching.")).toBe("\nStopped watching.\n");
  expect(said(null)).toBe("");
});

test("bulkhead session events --follow without an id says that no daemon runs", async () => {
  expect(await cli(["session", "events", "-f"])).toMatchObject({
    code: 6,
    out: "",
    err: "error: Cannot follow all sessions: no daemon runs here.\n  Start one: bulkhead start\n",
  });
});

test("bulkhead session list says whether there is no session at all or none that matches", async () => {
  expect((await cli(["session", "list"])).out).toBe('No session yet. Start one: bulkhead run alpha "…"\n');
  expect((await cli(["session", "list", "--state", "running"])).out).toBe("No session matches.\n");
});

test.each([[["cluster", "status"]], [["reload"]], [["console"]]])(
  "bulkhead %s says once that no daemon runs",
  async (args) => {
    const { code, err } = await cli([...args, "--state-dir", join(cwd, "state")]);
    expect(code).toBe(6);
    expect(err).toMatch(
      /^error: Cannot [a-z ]+: no daemon runs on this state folder\.\n {2}Start the daemon: bulkhead start\n$/,
    );
  },
);

test("every flag of run, and every command of plugin, stands under a heading that names it", async () => {
  const { out: run } = await cli(["run", "--help"]);
  expect(run).toMatch(
    /\nPrompt:[^]*--prompt-file[^]*\nAgent:[^]*--all[^]*\nWhere:[^]*\nOutput:[^]*--record[^]*--force/,
  );
  expect(run).not.toContain("\nOptions:");
  expect((await cli(["plugin", "--help"])).out).not.toContain("\nCommands:");
});

test("bulkhead run ends quietly when the reader of its output goes away", async () => {
  const terminal = fakeTerminal({ args: ["run", "alpha", "x", "--json"], cwd });
  const host = fakeHost({
    during: (signal) => {
      terminal.closeOutput();
      expect(signal.aborted).toBe(true);
    },
  });
  expect(await runCli(terminal, { createHost: host.create })).toBe(141);
  expect(terminal.err()).toBe("");
});

test("bulkhead run asks once, always, no or never, and remembers always and never for that tool", async () => {
  const ask = (request_id: string, tool: string, kinds: PermissionOption["kind"][]): Envelope["event"] => ({
    type: "permission_request",
    request_id,
    tool,
    title: "May I?",
    options: kinds.map((kind) => ({ id: kind, label: "Said by the agent", kind })),
  });
  const plain: PermissionOption["kind"][] = ["allow_once", "reject_once"];
  const events = [
    ask("r1", "Read", plain),
    ask("r2", "Bash", plain),
    ask("r3", "Bash", ["allow_once", "allow_always", "reject_once"]),
    ask("r4", "Edit", ["allow_once", "allow_always", "reject_always"]),
    ask("r5", "Grep", ["reject_once", "reject_always", "allow_once"]),
    ask("r6", "Grep", ["allow_once", "reject_once"]),
    ask("r7", "Plan", ["allow_once", "allow_once", "reject_once"]),
    { ...ask("r8", "network", plain), input: { host: "a.example.com:443" } } as Envelope["event"],
    { ...ask("r9", "network", plain), input: { host: "b.example.com:443" } } as Envelope["event"],
  ];
  const during = () => new Promise<void>((resolve) => setTimeout(resolve, 800));
  const { host, err } = await cli(["run", "alpha", "x"], {
    tty: true,
    stdin: "n\nalways\na\nnever\n1\nalways\nno\n",
    host: { events, during },
  });
  expect(Object.fromEntries(host.answers)).toEqual({
    r1: "reject_once",
    r2: "allow_once",
    r3: "allow_once",
    r4: "allow_always",
    r5: "reject_always",
    r6: "reject_once",
    // More than these four are shown as the agent words them.
    r7: "allow_once",
    // Each place of the network is a question of its own.
    r8: "allow_once",
    r9: "reject_once",
  });
  expect(err).toContain("[o]nce  [a]lways  [n]o  n[e]ver › ");
  expect(err).toContain("[1] Said by the agent");
});

test("bulkhead run asks the person at the terminal what the agent asks", async () => {
  const { host, err } = await cli(["run", "alpha", "x"], {
    tty: true,
    stdin: "maybe\nonce\n",
    host: {
      events: [{
        type: "permission_request",
        request_id: "r1",
        tool: "Bash",
        title: "run rm",
        input: { command: "rm -r build\nrm -r dist" },
        options: [
          { id: "yes", label: "Allow once", kind: "allow_once" },
          { id: "no", label: "Reject", kind: "reject_once" },
        ],
      }],
      during: () => new Promise((resolve) => setTimeout(resolve, 300)),
    },
  });
  expect(err).toContain(`The agent asks to use "Bash": "run rm"\n  │ rm -r build\n  │ rm -r dist\n`);
  expect(err).toContain("[o]nce  [a]lways  [n]o");
  expect(host.answers).toEqual([["r1", "yes"]]);
});

test("a request whose title is its command shows it once, and all of a long one where a person asks", async () => {
  const ask = (request_id: string, title: string, input: object): Envelope["event"] => ({
    type: "permission_request",
    request_id,
    tool: "Bash",
    title,
    input,
    options: [
      { id: "yes", label: "Allow once", kind: "allow_once" },
      { id: "no", label: "Reject", kind: "reject_once" },
    ],
  });
  const lines = Array.from({ length: 60 }, (_, at) => `echo ${at}`).join("\n");
  const { host, err } = await cli(["run", "alpha", "x"], {
    tty: true,
    stdin: "o\ns\nn\n",
    host: {
      events: [ask("r1", "rm  -r build", { command: "rm -r build" }), ask("r2", "a script", { command: lines })],
      during: () => new Promise((resolve) => setTimeout(resolve, 500)),
    },
  });
  expect(err).toContain(`The agent asks to use "Bash"\n  │ rm -r build\n`);
  const [before = "", after = ""] = err.split("[s]how all › ");
  expect(before).toContain("… and 30 more lines");
  expect(before).not.toContain("echo 59");
  expect(after).toContain("  │ echo 59\n");
  expect(after).toContain("n[e]ver › ");
  expect(host.answers).toEqual([["r1", "yes"], ["r2", "no"]]);
});

test("bulkhead run asks for a missing grant on a terminal, and not with --json", async () => {
  const attended = await cli(["run", "alpha", "x"], { tty: true });
  expect(attended.host.options[0]?.askGrant).toBeTypeOf("function");
  const unattended = await cli(["run", "alpha", "x"]);
  expect(unattended.host.options[0]?.askGrant).toBeUndefined();
  const json = await cli(["run", "alpha", "x", "--json"], { tty: true });
  expect(json.host.options[0]?.askGrant).toBeUndefined();
});

test("bulkhead plugin enable shows what the plugin may not yet, and the commands that grant it", async () => {
  const manifest = { ...fakePlugin("alpha").manifest, permissions: { read: ["workdir"], net: ["example.com:443"] } };
  const plugins = [{ ...fakePlugin("alpha", { enabled: false }), manifest }];
  const { code, out } = await cli(["plugin", "enable", "alpha"], { host: { plugins } });
  expect(code).toBe(0);
  expect(out).toContain("It may not yet:\n");
  expect(out).toContain("    read files in the working directory\n");
  expect(out).toContain("  bulkhead plugin grant alpha read:workdir net:example.com:443\n");
  const json = await cli(["plugin", "enable", "alpha", "--json"], { host: { plugins } });
  expect(JSON.parse(json.out)).toMatchObject({ missing: ["read:workdir", "net:example.com:443"] });
});

test("bulkhead plugin enable grants what a person agrees to, or what --grant names", async () => {
  const manifest = { ...fakePlugin("alpha").manifest, permissions: { read: ["workdir"], net: ["example.com:443"] } };
  const plugins = [{ ...fakePlugin("alpha", { enabled: false }), manifest }];
  const file = join(cwd, "bulkhead.yaml");
  const enable = async (stdin: string, ...flags: string[]) => {
    await writeFile(file, "bulkhead: 1\n");
    const { out } = await cli(["plugin", "enable", "alpha", ...flags], { host: { plugins }, tty: true, stdin });
    return { out, text: await readFile(file, "utf8") };
  };
  const granted = await enable("grant\n");
  expect(granted.out).toMatch(/^alpha may\n {4}read files in the working directory\n/);
  expect(granted.out).toContain("alpha is enabled and may now: read:workdir, net:example.com:443 (");
  expect(granted.text).toMatch(/grant:\n +read:\n +- workdir\n +net:\n +- example\.com:443\n/);
  const without = await enable("without\n");
  expect(without.out).toContain("It may not yet:\n");
  expect(without.text).not.toContain("grant");
  expect(await enable("no\n")).toMatchObject({
    out: expect.stringMatching(/Nothing was changed\.\n$/),
    text: "bulkhead: 1\n",
  });
  const named = await enable("", "--grant", "read:workdir");
  expect(named.out).toMatch(
    /may now: read:workdir [^]*It may not yet:\n {4}send anything it knows to "example.com:443"\n/,
  );
  const stray = await cli(["plugin", "enable", "alpha", "--grant", "run:git"], { host: { plugins } });
  expect(stray).toMatchObject({ code: 2, err: expect.stringContaining("It asks for: net:example.com:443.") });
});

test("bulkhead plugin list shows every plugin, with --json one a line", async () => {
  const plugins = [fakePlugin("beta", { enabled: false, origin: "bundled" }), fakePlugin("alpha")];
  const { out } = await cli(["plugin", "list"], { host: { plugins } });
  expect(out).toBe([
    " plugin  version  state     from     walls    what it does",
    " alpha   1.2.3    enabled   folder   process  What alpha does.",
    " beta    1.2.3    disabled  bundled  process  What beta does.",
    "",
  ].join("\n"));
  const json = await cli(["plugin", "list", "--json"], { host: { plugins } });
  expect(json.out.trimEnd().split("\n").map((line) => JSON.parse(line).id)).toEqual(["alpha", "beta"]);
});

test("bulkhead plugin list shows what cannot be used, and why", async () => {
  const error = new BulkheadError("invalid_manifest", "plugin.yaml:3:1 id: expected a name, found 5");
  const problems = [{ id: "bad", folder: "/plugins/bad", error, unavailable: false }];
  const { code, out } = await cli(["plugin", "list"], { host: { problems } });
  expect(code).toBe(0);
  expect(out).toContain(" ✘ bad cannot be used (/plugins/bad)\n   plugin.yaml:3:1 id: expected a name, found 5\n");
  const json = await cli(["plugin", "list", "--json"], { host: { problems } });
  expect(JSON.parse(json.out.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({
    id: "bad",
    error: { code: "invalid_manifest" },
  });
});

test("bulkhead plugin explain shows a row for each permission and what is missing", async () => {
  const alpha = fakePlugin("alpha", { grant: { read: ["workdir"] } });
  alpha.manifest.permissions = { read: ["workdir"], net: ["example.com:443"] };
  const { code, out } = await cli(["plugin", "explain", "alpha"], { host: { plugins: [alpha] } });
  expect(code).toBe(0);
  expect(out).toMatch(/read +✔ granted +workdir/);
  expect(out).toMatch(/net +- not granted +example\.com:443/);
  expect(out).toContain("\nTo grant what is missing:\n  bulkhead plugin grant alpha net:example.com:443\n");
  const json = await cli(["plugin", "explain", "alpha", "--json"], { host: { plugins: [alpha] } });
  expect(json.out.trimEnd().split("\n").map((line) => JSON.parse(line))).toMatchObject([
    { plugin_id: "alpha", permission: "read", effective: ["workdir"] },
    { plugin_id: "alpha", permission: "net", effective: [] },
  ]);
  expect(await cli(["plugin", "explain", "none"])).toMatchObject({ code: 5 });
});

test("bulkhead plugin explain gives keys, and what amounts to everything, commands of their own", async () => {
  const alpha = fakePlugin("alpha");
  alpha.manifest.permissions = { read: ["workdir"], env: ["ORDERS_KEY"], run: [{ binary: "bash", args: ["-c {*}"] }] };
  const { out } = await cli(["plugin", "explain", "alpha"], { host: { plugins: [alpha] } });
  expect(out).toContain("\nTo grant what is missing:\n  bulkhead plugin grant alpha read:workdir\n");
  expect(out).toMatch(
    /each by itself:\n(?= {2}bulkhead plugin grant alpha 'run:bash -c \{\*\}'\n {2}bulkhead plugin grant alpha \S+\n$)[^]* env:ORDERS_KEY\n/,
  );
});

test("bulkhead plugin explain grants a program's row alone, and says what else a wider one allows", async () => {
  const alpha = fakePlugin("alpha");
  alpha.manifest.permissions = { run: [{ binary: "git", args: ["push", "{...}"], env: ["LANG"] }] };
  const { out } = await cli(["plugin", "explain", "alpha"], { host: { plugins: [alpha] } });
  expect(out).toContain(
    "\nTo grant what is missing:\n  bulkhead plugin grant alpha 'run:git push'\n    It also allows: run_env git LANG\n",
  );
  expect(out).toMatch(
    /each by itself:\n {2}bulkhead plugin grant alpha 'run:git \{\.\.\.\}'\n {4}It also allows: run git push, run_env git LANG\n$/,
  );
});

test("bulkhead plugin explain names what amounts to everything, in words and in --json, first", async () => {
  const alpha = fakePlugin("alpha");
  alpha.manifest.permissions = { read: ["workdir"], run: [{ binary: "bash", args: ["-c {*}"] }] };
  const { out } = await cli(["plugin", "explain", "alpha"], { host: { plugins: [alpha] } });
  expect(out).toMatch(/Look twice at:\n {2}! run bash -c \{\*\}: amounts to everything\.\n {6}bash runs any code/);
  const json = await cli(["plugin", "explain", "alpha", "--json"], { host: { plugins: [alpha] } });
  expect(json.out.trimEnd().split("\n").map((line) => JSON.parse(line))).toMatchObject([
    { permission: "run", breadth: "everything", broad_because: expect.stringContaining("any code") as unknown },
    { permission: "read", breadth: "bounded" },
    { plugin_id: "alpha", program: "bash" },
  ]);
});

test("bulkhead plugin check names what the manifest asks for that amounts to everything", async () => {
  const folder = join(cwd, "beta");
  await mkdir(folder);
  await writeFile(
    join(folder, "plugin.yaml"),
    `manifest: 1
id: beta
name: Beta
version: 1.0.0
description: Asks for much.
license: MIT
host: ^1.0.0
adapter_type: cli
cli: { binary: env, command_template: "{binary} {prompt}" }
capabilities: {}
`,
  );
  expect((await cli(["plugin", "check", folder])).out).toContain(
    "! run env {*}: more than it seems.\n      env starts any",
  );
  expect(JSON.parse((await cli(["plugin", "check", folder, "--json"])).out)).toMatchObject({
    broad: [{ permission: "run", target: "env {*}", breadth: "much" }],
  });
});

test("bulkhead plugin grant edits bulkhead.yaml once", async () => {
  const first = await cli(["plugin", "grant", "alpha", "read:workdir"]);
  expect(first).toMatchObject({ code: 0 });
  expect(first.out).toMatch(/^Granted: alpha may read workdir/);
  expect(await readFile(join(cwd, "bulkhead.yaml"), "utf8")).toMatch(/alpha:[\s\S]*read:[\s\S]*workdir/);
  expect((await cli(["plugin", "grant", "alpha", "read:workdir"])).out).toMatch(/^Granted already/);
  expect(await cli(["plugin", "grant", "alpha", "fly:high"])).toMatchObject({ code: 2 });
});

test("bulkhead init writes a manifest that can be read, and overwrites only with --force", async () => {
  await rm(join(cwd, "bulkhead.yaml"));
  expect(await cli(["init"])).toMatchObject({ code: 0 });
  const text = await readFile(join(cwd, "bulkhead.yaml"), "utf8");
  expect(text).toContain("bulkhead: 1");
  const again = await cli(["init"]);
  expect(again).toMatchObject({ code: 2 });
  expect(again.err).toContain("--force");
  await writeFile(join(cwd, "bulkhead.yaml"), "mine");
  expect(await cli(["init", "--force", "--json"])).toMatchObject({ code: 0 });
  expect(await readFile(join(cwd, "bulkhead.yaml"), "utf8")).toBe(text);
  expect(await cli(["plugin", "list"])).toMatchObject({ code: 0 });
});

test("bulkhead doctor tells walls that are active from those that are missing", async () => {
  const { code, out } = await cli(["doctor", "--json"]);
  const report = JSON.parse(out);
  expect(code).toBe(0);
  expect(
    report.walls.filter(({ state }: { state: string }) => state === "active").map(({ name }: { name: string }) => name),
  )
    .toEqual(expect.arrayContaining(["compartment", "worker thread", "process per plugin"]));
  expect(report.agents).toEqual([fakeAgent("alpha", { primary: true })]);
  expect(report).toMatchObject({ bulkhead: hostBuild, host_manifest: join(cwd, "bulkhead.yaml"), problems: [] });
  expect((await cli(["doctor"])).out).toMatch(/alpha \* +✔ available +9\.9 +It is here\./);
});

test("bulkhead doctor says what keeps a host from starting", async () => {
  await writeFile(join(cwd, "bulkhead.yaml"), "bulkhead: 2\n");
  const { code, out } = await cli(["doctor"]);
  expect(code).toBe(1);
  expect(out).toMatch(/Problems\n +✘ .*bulkhead\.yaml:1:/);
});

test("bulkhead completion prints a script that knows every command", async () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    const { code, out } = await cli(["completion", shell]);
    expect(code).toBe(0);
    expect(out).toContain("bulkhead complete --");
  }
  expect(await cli(["completion", "csh"])).toMatchObject({ code: 2 });
});

test("bulkhead complete knows commands, flags, choices, pages and the ids of plugins", async () => {
  const host = { plugins: [fakePlugin("alpha"), fakePlugin("beta", { enabled: false })] };
  const words = async (...line: string[]) => (await cli(["complete", "--", ...line], { host })).out.split("\n");
  // The first time loads all commands, for which a busy machine may take longer than a shell waits.
  await expect.poll(() => words("plugin", "ex"), { timeout: 20_000 }).toContain("explain");
  expect(await words("run", "--prom")).toEqual(["--prompt-file", ""]);
  expect(await words("run", "--workspace", "")).toEqual(["inplace", "worktree", ""]);
  expect(await words("run", "")).toEqual(["alpha", ""]);
  expect(await words("plugin", "explain", "")).toEqual(["alpha", "beta", ""]);
  expect(await words("help", "perm")).toEqual(["permissions", ""]);
  expect(await words("session", "show", "")).toEqual([""]);
  expect(await words("nonsense", "")).toEqual([""]);
});

test("bulkhead loop runs sessions until the maximum and says so with exit code 9", async () => {
  const { code, out, host } = await cli(["loop", "Do it.", "--max-iterations", "2"]);
  expect(code).toBe(9);
  expect(host.requests.map(({ request }) => [request.iteration, request.max_iterations])).toEqual([[1, 2], [2, 2]]);
  expect(out).toMatch(
    /Iteration 1 of 2[^]*Iteration 2 of 2[^]*not done · 2 iterations · max_iterations · 1,440 tokens · \$0\.0072/,
  );
  const usage = { ...fakeResult().usage, cost: 0.5, currency: "EUR" };
  const euros = await cli(["loop", "Do it.", "--max-iterations", "2"], { host: { result: fakeResult({ usage }) } });
  expect(euros.out).toMatch(/2 iterations · max_iterations · 1,440 tokens · 1\.00 EUR\n/);
});

test("bulkhead loop ends with the agent's signal, and with the exit code of a session that fails", async () => {
  const done = await cli(["loop", "Do it.", "--json"], {
    host: { result: fakeResult({ stop_reason: "loop_complete" }) },
  });
  expect(done.code).toBe(0);
  expect(JSON.parse(done.out.trim().split("\n").at(-1)!)).toMatchObject({
    loop: { complete: true, iterations: 1, stop_reason: "loop_complete", session_ids: ["s1"] },
  });
  const failed = await cli(["loop", "Do it."], { host: { result: fakeResult({ stop_reason: "timeout" }) } });
  expect(failed).toMatchObject({ code: 7 });
  expect(failed.host.requests).toHaveLength(1);
});

test("bulkhead run says that nobody is there to answer when nobody is", async () => {
  const unattended = await cli(["run", "Do it."]);
  expect(unattended.host.requests[0]?.request.answer_timeout_ms).toBe(0);
  const told = await cli(["run", "Do it.", "--answer-timeout", "5s"]);
  expect(told.host.requests[0]?.request.answer_timeout_ms).toBe(5000);
});

test("bulkhead run --all shows several sessions as one stream and compares them", async () => {
  const plugins = [fakePlugin("alpha"), fakePlugin("beta")];
  const events = [{ type: "progress" as const, message: "at work" }];
  const { code, out, host } = await cli(["run", "--all", "alpha,beta", "Do it."], {
    host: { plugins, events },
  });
  expect(code).toBe(0);
  expect(host.requests.map(({ request, adapter }) => [adapter, request.workspace])).toEqual([
    ["alpha", "worktree"],
    ["beta", "worktree"],
  ]);
  expect(out.match(/at work/g)).toHaveLength(2);
  expect(out).toMatch(/adapter +outcome +time +cost[^]*end_turn[^]*session diff\|apply\|discard/);
  const [first, second] = host.requests.map(({ request }) => request.labels?.["comparison"]);
  expect(first).toMatch(/^[0-9a-f]{12}$/);
  expect(second).toBe(first);
  const json = await cli(["run", "--all", "Do it.", "--json"], { host: { plugins, events } });
  expect(JSON.parse(json.out.trim().split("\n").at(-1)!)).toMatchObject({ comparison: { sessions: [{}, {}] } });
});

test("bulkhead run --all asks at a terminal with the agent's name, and nowhere else", async () => {
  const plugins = [fakePlugin("alpha"), fakePlugin("beta")];
  const request: Envelope["event"] = {
    type: "permission_request",
    request_id: "r1",
    tool: "Write",
    title: "Write a.ts",
    input: { file_path: "a.ts", content: "one" },
    options: [
      { id: "yes", label: "Allow once", kind: "allow_once" },
      { id: "no", label: "Reject", kind: "reject_once" },
    ],
  };
  const during = () => new Promise<void>((resolve) => setTimeout(resolve, 400));
  const host = { plugins, events: [request], during };
  const args = ["run", "--all", "alpha,beta", "Do it."];
  const attended = await cli(args, { tty: true, stdin: "once\nno\n", host });
  expect(attended.host.answers).toEqual([["r1", "yes"], ["r1", "no"]]);
  expect(attended.err).toMatch(/"alpha" asks to use "Write": "Write a.ts"\n {2}│ a.ts\n {2}│ \+one\n/);
  expect(attended.host.requests[0]?.request.answer_timeout_ms).toBeUndefined();
  const alone = await cli(args, { host });
  expect(alone.host.answers).toEqual([]);
  expect(alone.host.requests[0]?.request.answer_timeout_ms).toBe(0);
});

test("bulkhead run --all says which agents are left out, and why one was not answered", async () => {
  const plugins = [fakePlugin("alpha"), fakePlugin("beta")];
  const passed = {
    adapter_id: "gamma",
    code: "unavailable" as const,
    reason: "It is not logged in.",
    next_step: "Log in.",
  };
  const route = {
    candidates: plugins.map(({ id }) => ({ adapter_id: id, access_mode: null, further_modes: [] })),
    passed_over: [passed],
  };
  const host = { plugins, route, result: fakeResult({ stop_reason: "permission_deadline" }) };
  const { out, err } = await cli(["run", "--all", "Do it."], { host });
  expect(err).toContain("not gamma: It is not logged in. Log in.");
  expect(out).toContain(" gamma was left out: It is not logged in. Log in.\n");
  expect(out).toContain("asked, and no one answered: run it at a terminal, or with --approval edits\n");
  const json = await cli(["run", "--all", "Do it.", "--json"], { host });
  expect(json.err).toBe("");
  expect(JSON.parse(json.out.trim().split("\n").at(-1)!)).toMatchObject({
    passed_over: [{ adapter_id: "gamma", reason: "It is not logged in. Log in." }],
  });
});

test("run tells of large data before it is copied into a worktree, and how it is left out", async () => {
  execFileSync("git", ["init", "-q"], { cwd });
  await mkdir(join(cwd, "data"));
  await writeFile(join(cwd, "data", "set.bin"), "");
  // Without blocks on the disk.
  await truncate(join(cwd, "data", "set.bin"), 300 * 1024 * 1024);
  const { err, out } = await cli(["run", "alpha", "go", "--workspace", "worktree"]);
  expect(err).toContain(
    "The worktree gets copies of 300 MiB in 2 files that are in no commit; the largest is data/set.bin, 300 MiB.\n" +
      "  To leave them out, name them in .gitignore or .git/info/exclude.\n",
  );
  expect(out).not.toContain("The worktree gets");
  await writeFile(join(cwd, ".git", "info", "exclude"), "/data/\n");
  expect((await cli(["run", "alpha", "go", "--workspace", "worktree"])).err).not.toContain("copies");
});
