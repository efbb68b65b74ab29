import { chmod, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import { createHost, loadHostManifest } from "bulkhead";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { runCli } from "../../../../core/doors/cli/run-cli.ts";
import { daemonFiles } from "../../../../core/doors/daemon/daemon-files.ts";
import { startDaemon } from "../../../../core/doors/daemon/daemon.ts";
import { readKernelFile } from "../../../../core/ground/platform/os-walls/kernel-file.ts";
import { probeWalls } from "../../../../core/ground/platform/os-walls/probe.ts";
import { refusedBubblewrap } from "../../../../core/ground/platform/os-walls/refused-bubblewrap.ts";
import { openOwnNetwork } from "../../../../core/walls/agent/own-network.ts";
import { fakeTerminal } from "../../../doors/cli/fake-terminal.ts";
import { anyShell, errorOf, makeBroker, runShell } from "../../../walls/broker/broker-fixture.ts";

vi.mock("../../../../core/ground/platform/os-walls/kernel-file.ts");

const apparmor = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";
const clone = "/proc/sys/kernel/unprivileged_userns_clone";
const most = "/proc/sys/user/max_user_namespaces";
const status = "/proc/self/status";

// Ubuntu 24.04, and Debian's kernel before that had a switch of its own.
const uidMap = "bwrap: setting up uid map: Permission denied";
const loopback = "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted";
const noPermissions =
  "bwrap: No permissions to create a new namespace, likely because the kernel does not allow non-privileged user namespaces";
const exceeded =
  "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)";

const broad =
  "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0  # allows it to every program, until the next boot";

/** The line that gives bwrap a profile. */
function clean(bwrap: string): string {
  return `echo 'abi <abi/4.0>, profile bwrap ${bwrap} flags=(unconfined) { userns, }' | sudo tee /etc/apparmor.d/bwrap` +
    " && sudo apparmor_parser -r /etc/apparmor.d/bwrap  # allows it to bwrap alone";
}

/** Has the machine hold nothing but these files of the kernel. */
function machine(files: Record<string, string>): void {
  vi.mocked(readKernelFile).mockImplementation((file) => Promise.resolve(files[file] ?? null));
}

let root = "";
let bwrap = "";
const before = process.env["PATH"];

beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-refused-")));
  bwrap = join(root, "bin", "bwrap");
  for (const name of ["bin", "project"]) await mkdir(join(root, name));
  await program("bwrap", `echo '${uidMap}' >&2; exit 1`);
  await program("codex", "echo codex-cli 1.0.0");
  process.env["PATH"] = `${join(root, "bin")}${delimiter}${before}`;
});
afterAll(async () => {
  process.env["PATH"] = before;
  await rm(root, { recursive: true });
});

async function program(name: string, script: string): Promise<void> {
  await writeFile(join(root, "bin", name), `#!/bin/sh\n${script}\n`);
  await chmod(join(root, "bin", name), 0o755);
}

describe("refusedBubblewrap names the cause and the lines that help", () => {
  test.each([uidMap, loopback, "bwrap: Creating new namespace failed: Permission denied"])(
    "where AppArmor refuses: %s",
    async (printed) => {
      machine({ [apparmor]: "1\n", [clone]: "1\n", [most]: "15000\n", [status]: "Seccomp:\t0\n" });
      expect(await refusedBubblewrap(printed, "/nowhere/bwrap")).toEqual({
        active: false,
        refused: true,
        reason: `bwrap is installed, but AppArmor refuses it a user namespace: "${printed}".`,
        remedy: `${clean("/nowhere/bwrap")}\n${broad}`,
      });
    },
  );

  test("where a setting forbids user namespaces", async () => {
    machine({ [clone]: "0\n", [apparmor]: "1\n" });
    expect(await refusedBubblewrap(noPermissions, bwrap)).toMatchObject({
      reason: expect.stringMatching(
        /^bwrap is installed, but kernel\.unprivileged_userns_clone is 0, .*: "bwrap: No perm/,
      ),
      remedy: "sudo sysctl -w kernel.unprivileged_userns_clone=1  # until the next boot",
    });
    machine({ [most]: "0\n", [apparmor]: "1\n" });
    expect(await refusedBubblewrap(exceeded, bwrap)).toMatchObject({
      reason: expect.stringContaining("user.max_user_namespaces is 0"),
      remedy: "sudo sysctl -w user.max_user_namespaces=15000  # until the next boot",
    });
  });

  test.each([
    { "/.dockerenv": "" },
    { "/run/.containerenv": 'engine="podman"\n' },
    { [status]: "Name:\tnode\nSeccomp:\t2\nSeccomp_filters:\t1\n" },
  ])("in a container: %o", async (files) => {
    // The kernel of an Ubuntu: its setting shows in the container too, and is not what refuses.
    machine({ ...files, [apparmor]: "1\n" });
    expect(await refusedBubblewrap(noPermissions, bwrap)).toMatchObject({
      reason: expect.stringContaining("the container or service around this host may not make namespaces"),
      remedy: expect.stringContaining("--security-opt seccomp=unconfined"),
    });
  });

  test("and names none where it knows none", async () => {
    machine({ [apparmor]: "1\n", [status]: "Seccomp:\t0\n" });
    expect(await refusedBubblewrap("bwrap: Unknown option --cap-drop", bwrap)).toMatchObject({
      reason: 'bwrap is installed, but does not work here: "bwrap: Unknown option --cap-drop".',
      remedy: expect.stringContaining("bwrap --unshare-user"),
    });
    machine({ [apparmor]: "0\n" });
    expect((await refusedBubblewrap(uidMap, bwrap)).reason).not.toContain("AppArmor");
  });
});

describe("where AppArmor refuses bwrap", () => {
  const reason = `bwrap is installed, but AppArmor refuses it a user namespace: "${uidMap}".`;
  const help = () => [clean(bwrap), broad];
  const wayAround =
    "Or set os_walls.agents to off for this plugin in bulkhead.yaml: then its programs have all your rights.";

  beforeEach(() => machine({ [apparmor]: "1\n" }));

  test("the walls of this machine say that it is there and refused", async () => {
    const wall = (await probeWalls()).find(({ name }) => name === "bubblewrap");
    expect(wall).toMatchObject({ state: "refused", remedy: help().join("\n") });
    expect(wall?.detail.startsWith(`${reason} Without it, `)).toBe(true);
  });

  test("bulkhead setup warns, with the lines to type", async () => {
    await writeManifest("");
    const args = ["setup", "--yes", "--agents", "codex", "--no-hello", "--state-dir", join(root, "setup")];
    const terminal = fakeTerminal({ args, cwd: join(root, "project") });
    await runCli(terminal);
    const lines = terminal.out().split("\n");
    const at = lines.indexOf(`! The programs of codex cannot be contained here and do not start. ${reason}`);
    expect(at, terminal.out() + terminal.err()).toBeGreaterThan(0);
    expect(lines.slice(at + 1, at + 3)).toEqual(help().map((line) => `  ${line}`));
  });

  test("bulkhead doctor shows them below the wall, whole, and the way around below the problem", async () => {
    await writeManifest("codex: {}");
    const terminal = fakeTerminal({
      args: ["doctor", "--state-dir", join(root, "doctor")],
      cwd: join(root, "project"),
    });
    expect(await runCli(terminal)).toBe(1);
    const lines = terminal.out().split("\n");
    const wall = lines.findIndex((line) => line.startsWith("  bubblewrap "));
    expect(lines[wall]).toContain(`✘ refused  ${reason}`);
    expect(lines.slice(wall + 1, wall + 3)).toEqual(help().map((line) => `    → ${line}`));
    expect(lines.slice(-3)).toEqual([
      `  ✘  The programs of codex cannot be contained here and do not start. ${reason}`,
      "    → Or set os_walls.agents to off in bulkhead.yaml: then they have all your rights.",
      "",
    ]);
  });

  test("a daemon's log warns", async () => {
    await writeManifest("codex: {}");
    const config = join(root, "project", "bulkhead.yaml");
    const daemon = await startDaemon({
      createHost,
      readManifest: async () => await loadHostManifest({ config, from: root }) ?? undefined,
      root: join(root, "project"),
      stateDir: join(root, "state"),
      port: 0,
    });
    await daemon.stop({ drainMs: 0 });
    const records = (await readFile(daemonFiles(join(root, "state")).log, "utf8")).trim().split("\n")
      .map((line): { level: string; message: string } => JSON.parse(line));
    expect(records.find(({ message }) => message.startsWith("The programs of codex"))).toMatchObject({
      level: "warn",
      message: expect.stringContaining(`${reason}\n${help().join("\n")}\n`),
    });
  });

  test("a program that is not started contained says so, and so does its network", async () => {
    const { broker } = await makeBroker({ permissions: { run: [{ ...anyShell, contain: "workdir" }] } });
    expect((await errorOf(runShell(broker, "true"))).toJSON()).toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(/^Cannot run ".*\/sh" contained: bwrap is installed, but AppArmor refuses/),
      hint: [...help(), wayAround].join("\n"),
    });
    const network = openOwnNetwork({ ports: [3128], folder: join(root, "network"), light: false });
    expect((await errorOf(network)).toJSON()).toMatchObject({
      message: `Cannot run the agent's programs contained, on a network of their own: ${reason}`,
      hint: [...help(), wayAround].join("\n"),
    });
  });

  async function writeManifest(plugins: string): Promise<void> {
    await writeFile(join(root, "project", "bulkhead.yaml"), `bulkhead: 1\nplugins: { ${plugins} }\n`);
  }
});
