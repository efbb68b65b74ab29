import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import type { HostOptions } from "../../../core/sessions/host/host.ts";
import { fakeHost } from "./fake-host.ts";
import { fakeTerminal } from "./fake-terminal.ts";

let cwd = "";
beforeEach(async () => {
  cwd = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-up-")));
  await writeFile(join(cwd, "bulkhead.yaml"), "bulkhead: 1\ndaemon: { port: 0 }\n");
});
afterEach(() => rm(cwd, { recursive: true }));

/** Starts a daemon that is told something in the midst of its start. */
async function upWhile(during: (terminal: ReturnType<typeof fakeTerminal>) => void, flags: readonly string[] = []) {
  const terminal = fakeTerminal({ args: ["up", "--json", "--state-dir", "state", ...flags], cwd });
  let watches = 0;
  const counted = {
    ...terminal,
    onSignals: (handlers: Parameters<typeof terminal.onSignals>[0]) => (watches++, terminal.onSignals(handlers)),
  };
  const host = fakeHost();
  const createHost = (options: HostOptions) => {
    during(terminal);
    return host.create(options);
  };
  const code = await runCli(counted, { createHost });
  const log = await readFile(join(cwd, "state", "daemon.log"), "utf8");
  return {
    terminal,
    code,
    host,
    log,
    watches,
    left: (await readdir(join(cwd, "state"))).filter((name) => /lock|sock|json/.test(name)),
  };
}

test("up that is told to end while it starts ends in order when it has started", async () => {
  const { code, terminal, log, left, watches } = await upWhile((one) => one.interrupt());
  expect([code, terminal.exits, left]).toEqual([0, [], []]);
  // One that comes between two watchers is lost.
  expect(watches).toBe(1);
  expect(log).toContain("The daemon has stopped.");
});

test("up that is told so twice ends at once", async () => {
  const { terminal } = await upWhile((one) => {
    one.interrupt();
    one.interrupt();
  });
  expect(terminal.exits).toEqual([130]);
});

test("up whose terminal closes while it starts ends in order when it has started, however often it is told", async () => {
  const { code, terminal, log, left } = await upWhile((one) => {
    one.hangUp();
    one.hangUp();
  });
  expect([code, terminal.exits, left]).toEqual([0, [], []]);
  expect(log).toContain("The daemon has stopped.");
});

test("up that is told to reload while it starts does so when it has started", async () => {
  const { code, log } = await upWhile((one) => {
    one.reload();
    one.interrupt();
  });
  expect(code).toBe(0);
  expect(log).toContain("The host manifest was reloaded.");
});

test("up --demo finds that it has no temporary folder before it says that it is up", async () => {
  const before = process.env["TMPDIR"];
  process.env["TMPDIR"] = join(cwd, "missing");
  try {
    const { code, terminal, log, left } = await upWhile(() => {}, ["--demo"]);
    expect([code, terminal.out(), left]).toEqual([
      1,
      expect.stringContaining(
        `"Cannot make a temporary folder (TMPDIR): \\"${join(cwd, "missing")}\\" does not exist."`,
      ),
      [],
    ]);
    expect(terminal.out()).not.toContain('"daemon"');
    expect(log).toContain("The daemon has stopped.");
  } finally {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
  }
});

test("stop ends no process that may have a killed daemon's pid by chance", async () => {
  const other = spawn("sleep", ["60"], { stdio: "ignore" });
  try {
    await mkdir(join(cwd, "state"), { mode: 0o700 });
    // As a runtime writes it that may not look when processes began.
    await writeFile(join(cwd, "state", "daemon.lock"), JSON.stringify({ pid: other.pid, start: null }));
    for (const flags of [[], ["--now"]]) {
      const terminal = fakeTerminal({ args: ["stop", ...flags, "--state-dir", "state"], cwd });
      expect(await runCli(terminal)).toBe(6);
      expect(terminal.err()).toContain(`process ${other.pid} does not answer`);
    }
    expect([other.exitCode, other.signalCode]).toEqual([null, null]);
  } finally {
    other.kill("SIGKILL");
  }
});
