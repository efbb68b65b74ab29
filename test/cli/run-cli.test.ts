import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { commands } from "../../core/cli/commands.ts";
import { runCli } from "../../core/cli/run-cli.ts";
import { hostVersion } from "../../core/config/version.ts";
import { BulkheadError } from "../../plugin-sdk/errors.ts";
import { fakeHost, type FakeHostOptions, fakePlugin, fakeResult } from "./fake-host.ts";
import { fakeTerminal, type FakeTerminalOptions } from "./fake-terminal.ts";

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
    for (const { name, summary } of commands) {
      expect(out).toContain(`${name}`.padEnd(8).trimEnd()), expect(out).toContain(summary);
    }
    expect(out).toContain("Examples:");
  }
});

test.each([
  ["run"],
  ["plugin"],
  ["plugin list"],
  ["plugin check"],
  ["plugin explain"],
  ["plugin grant"],
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
});

test("bulkhead --version is the package's version", async () => {
  const text = await readFile(new URL("../../package.json", import.meta.url), "utf8");
  expect(hostVersion).toBe(JSON.parse(text).version);
  expect(await cli(["--version"])).toMatchObject({ code: 0, out: `${hostVersion}\n` });
});

test("bulkhead help exit-codes lists each exit code with its stop reasons", async () => {
  const { code, out } = await cli(["help", "exit-codes"]);
  expect(code).toBe(0);
  expect(out).toMatch(/ 0 {2}done\n +end_turn, loop_complete/);
  expect(out).toMatch(/ 130 {2}interrupted/);
});

test("bulkhead answers wrong usage with a sentence, a hint and exit code 2", async () => {
  const unknown = await cli(["run", "--zzzzzzzz"]);
  expect(unknown).toMatchObject({ code: 2, out: "" });
  expect(unknown.err).toBe("error: Unknown option '--zzzzzzzz'.\n  Run \"bulkhead help run\" for the usage.\n");
  const close = await cli(["runn"]);
  expect(close.err).toBe("error: Unknown command 'runn'.\n  Did you mean run?\n");
  const value = await cli(["run", "--timeout", "soon", "x"]);
  expect(value.err).toContain("--timeout");
  expect(value.err).toContain("Expected milliseconds");
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
  expect((await cli(["run", "alpha", "x"], { host: { events }, colours: true })).out).toContain("\u001b[36malpha");
});

test("bulkhead run sends the request to the adapter and shows events and result", async () => {
  const { code, out, host } = await cli(["run", "alpha", "Do it.", "--timeout", "5s", "--label", "a=b"], {
    host: { events: [{ type: "output", stream: "stdout", data: "hello" }] },
  });
  expect(code).toBe(0);
  expect(host.requests).toEqual([{
    adapter: "alpha",
    request: { workdir: cwd, prompt: "Do it.", timeout_ms: 5000, labels: { a: "b" } },
  }]);
  expect(out).toBe([
    " alpha │ hello",
    "",
    " ✔ completed · end_turn · 2.1 s · 2 events",
    "   600 tokens in · 120 out · $0.0036 · model-x",
    "   no files changed",
    "",
  ].join("\n"));
  expect(host.closed).toBe(1);
  expect(host.options[0]).toMatchObject({ root: cwd, manifest: { file: join(cwd, "bulkhead.yaml") } });
});

test("bulkhead run takes the only enabled adapter and a piped prompt", async () => {
  const { host } = await cli(["run", "-"], { stdin: "From a pipe." });
  expect(host.requests).toMatchObject([{ adapter: "alpha", request: { prompt: "From a pipe." } }]);
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

test("bulkhead run asks the person at the terminal what the agent asks", async () => {
  const { host, err } = await cli(["run", "alpha", "x"], {
    tty: true,
    stdin: "maybe\n1\n",
    host: {
      events: [{
        type: "permission_request",
        request_id: "r1",
        tool: "Bash",
        title: "run rm",
        options: [
          { id: "yes", label: "Allow once", kind: "allow_once" },
          { id: "no", label: "Reject", kind: "reject_once" },
        ],
      }],
      during: () => new Promise((resolve) => setTimeout(resolve, 300)),
    },
  });
  expect(err).toContain(`The agent asks to use "Bash": "run rm"`);
  expect(err).toContain("[1] Allow once  [2] Reject");
  expect(host.answers).toEqual([["r1", "yes"]]);
});

test("bulkhead run asks for a missing grant on a terminal, and not with --json", async () => {
  const attended = await cli(["run", "alpha", "x"], { tty: true });
  expect(attended.host.options[0]?.askGrant).toBeTypeOf("function");
  const unattended = await cli(["run", "alpha", "x"]);
  expect(unattended.host.options[0]?.askGrant).toBeUndefined();
  const json = await cli(["run", "alpha", "x", "--json"], { tty: true });
  expect(json.host.options[0]?.askGrant).toBeUndefined();
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
  const problems = [{ id: "bad", folder: "/plugins/bad", error }];
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
  expect(out).toMatch(/read +workdir +yes +yes +- +all of it/);
  expect(out).toMatch(/net +example\.com:443 +yes +- +- +nothing/);
  expect(out).toContain("\n  bulkhead plugin grant alpha net:example.com:443\n");
  const json = await cli(["plugin", "explain", "alpha", "--json"], { host: { plugins: [alpha] } });
  expect(json.out.trimEnd().split("\n").map((line) => JSON.parse(line))).toMatchObject([
    { plugin_id: "alpha", permission: "read", effective: ["workdir"] },
    { plugin_id: "alpha", permission: "net", effective: [] },
  ]);
  expect(await cli(["plugin", "explain", "none"])).toMatchObject({ code: 5 });
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
  expect(report.agents).toEqual([{ id: "alpha", availability: "available", reason: "It is here.", version: "9.9" }]);
  expect(report).toMatchObject({ bulkhead: hostVersion, host_manifest: join(cwd, "bulkhead.yaml"), problems: [] });
  expect((await cli(["doctor"])).out).toMatch(/alpha +✔ available +9\.9 +It is here\./);
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
    for (const word of ["run", "plugin", "explain", "--prompt-file", "exit-codes"]) expect(out).toContain(word);
  }
  expect(await cli(["completion", "csh"])).toMatchObject({ code: 2 });
});
