import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { Option } from "commander";
import { type DefineCommand, examples, type Invocation, tell } from "../command.ts";
import { mkdir, rm } from "../../../ground/platform/files/files.ts";
import { dirname, isAbsolute, join } from "../../../ground/platform/files/paths.ts";
import { replaceFile } from "../../../ground/platform/files/replace-file.ts";
import { defaultDaemonSettings } from "../../../ground/config/daemon-settings.ts";
import { launchdLabel, launchdPlist, systemdUnit, systemdUnitName } from "../../daemon/unit-files.ts";
import { ownCommand } from "../../../ground/platform/processes/own-command.ts";
import { platform } from "../../../ground/platform/engine/platform.ts";
import type { HostManifest } from "../../../ground/config/host-manifest.ts";
import { createRegistry } from "../../../packages/registry/registry.ts";
import { variablesRead } from "../../../packages/permissions/requested-permissions.ts";
import { safeLine } from "../render/agent-text.ts";
import { daemonPlace } from "../daemon-place.ts";

const systems = ["systemd", "launchd"] as const;
const systemFlag = "--system <name>";
const systemMeaning = "who starts it; default: launchd on macOS, else systemd";

/** `bulkhead service` and its sub-commands. */
export const defineService: DefineCommand = (command, bind) => {
  command.usage("<install|uninstall> [flags]");
  command.command("install")
    .description("write the file with which your system starts the daemon at login")
    .option("--print", "print the file, write nothing")
    .addOption(new Option(systemFlag, systemMeaning).choices(systems))
    .addHelpText(...examples(
      ["bulkhead service install", "then the two commands that it prints"],
      ["bulkhead service install --print --system systemd", "look at it first"],
    ))
    .action(bind(install));
  command.command("uninstall")
    .description("remove that file")
    .addOption(new Option(systemFlag, systemMeaning).choices(systems))
    .addHelpText(...examples(["bulkhead service uninstall", "the daemon itself goes on"]))
    .action(bind(uninstall));
};

async function install(call: Invocation): Promise<number> {
  const { terminal, json, options } = call;
  const { file, text, enable, envFile, manifest } = await systemUnitOf(call);
  if (options["print"] === true) {
    await terminal.stdout.write(json ? `${JSON.stringify({ file, text })}\n` : text);
    return 0;
  }
  try {
    await mkdir(dirname(file), { recursive: true });
    await replaceFile(file, text);
  } catch (cause) {
    throw new BulkheadError("io_error", `Cannot write ${file}.`, { cause });
  }
  const variables = await variablesOf(call, manifest);
  const told = `Wrote ${file}.\n${variablesText(variables, envFile)}` +
    ["Start it now and at every login:", ...enable.map((line) => `  ${line}`)].join("\n");
  return await tell(call, { file, enable, env_file: envFile, variables }, told);
}

/** A variable that enabled agents read. */
interface ReadVariable {
  name: string;
  /** Ids of the plugins that read it. */
  read_by: string[];
  /** Whether this terminal has it. */
  here: boolean;
}

/** Finds the variables that enabled plugins read; their values are not looked at. */
async function variablesOf({ terminal }: Invocation, manifest: HostManifest | undefined): Promise<ReadVariable[]> {
  if (manifest === undefined) return [];
  const root = manifest.file === undefined ? terminal.cwd : dirname(manifest.file);
  const readers = new Map<string, string[]>();
  for (const { id, enabled, ...plugin } of (await createRegistry({ manifest, root })).list()) {
    if (!enabled) continue;
    for (const name of variablesRead(plugin)) readers.set(name, [...readers.get(name) ?? [], id]);
  }
  return [...readers].map(([name, read_by]) => ({ name, read_by, here: Boolean(terminal.env(name)) }));
}

function variablesText(variables: readonly ReadVariable[], envFile: string | null): string {
  if (variables.length === 0) return "";
  const here = variables.filter((one) => one.here);
  const rows = here.map(({ name, read_by }) => `  ${safeLine(name)}  read by ${read_by.map(safeLine).join(", ")}\n`);
  const others = variables.filter((one) => !one.here).map(({ name }) => safeLine(name));
  return [
    "The system starts it without the variables of this terminal.\n",
    ...(rows.length === 0 ? [] : ["This terminal has these, which enabled agents read:\n", ...rows]),
    ...(others.length === 0 ? [] : [`Enabled agents also read ${others.join(", ")}.\n`]),
    envFile === null
      ? "To give it one: launchctl setenv NAME value, at each login.\n"
      : `To give it one, write NAME=value on a line of ${envFile}, which only you may read (chmod 600).\n`,
  ].join("");
}

async function uninstall(call: Invocation): Promise<number> {
  const { file, disable } = await systemUnitOf(call);
  const removed = await rm(file).then(() => true, (error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return false;
    throw new BulkheadError("io_error", `Cannot remove ${file}.`, { cause: error });
  });
  const lines = removed
    ? [`Removed ${file}.`, "Let the system forget it:", ...disable.map((line) => `  ${line}`)]
    : [`There is no ${file}.`];
  return await tell(call, { file, removed, disable }, lines.join("\n"));
}

/** The unit file with which the system starts the daemon. */
interface SystemUnit {
  /** Absolute path. */
  file: string;
  text: string;
  /** File of further variables that the daemon gets; null where the system reads none. */
  envFile: string | null;
  manifest: HostManifest | undefined;
  /** Commands that enable it, and that disable it. */
  enable: string[];
  disable: string[];
}

/** Time to end a daemon, beyond the time of its sessions. Milliseconds. */
const closingMs = 45_000;

/** Variables that a daemon takes from this terminal: agents' programs are found by the first. */
const keptVariables = ["PATH", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"];

/**
 * Builds the unit for the daemon that a command's flags and host manifest describe.
 * @throws {BulkheadError} the error of the host manifest
 */
async function systemUnitOf(call: Invocation): Promise<SystemUnit> {
  const { terminal, options } = call;
  const { stateDir, configFile, manifest, problem } = await daemonPlace(call);
  if (problem !== null) throw problem;
  const set = keptVariables.flatMap((name): [string, string][] => {
    const value = terminal.env(name);
    return value ? [[name, value]] : [];
  });
  const home = terminal.env("HOME") ?? "";
  const ownConfig = terminal.env("XDG_CONFIG_HOME");
  const configHome = ownConfig && isAbsolute(ownConfig) ? ownConfig : join(home, ".config");
  const envFile = join(configHome, "bulkhead", "daemon.env");
  const config = configFile === undefined ? [] : ["--config", configFile];
  const unit = {
    command: [...ownCommand(), "up", "--state-dir", stateDir, ...config],
    workdir: configFile === undefined ? terminal.cwd : dirname(configFile),
    env: Object.fromEntries(set),
    envFile,
    stopMs: (manifest?.daemon?.drain_ms ?? defaultDaemonSettings.drain_ms) + closingMs,
  };
  const system = options["system"] ?? (platform === "darwin" ? "launchd" : "systemd");
  if (system === "launchd") {
    const file = join(home, "Library", "LaunchAgents", `${launchdLabel}.plist`);
    return {
      file,
      text: launchdPlist(unit),
      envFile: null,
      manifest,
      enable: [`launchctl bootstrap gui/$(id -u) ${quoted(file)}`],
      disable: [`launchctl bootout gui/$(id -u)/${launchdLabel}`],
    };
  }
  return {
    file: join(configHome, "systemd", "user", systemdUnitName),
    text: systemdUnit(unit),
    envFile,
    manifest,
    enable: ["systemctl --user daemon-reload", `systemctl --user enable --now ${systemdUnitName}`],
    disable: [`systemctl --user disable --now ${systemdUnitName}`, "systemctl --user daemon-reload"],
  };
}

/** Quotes a path as one word of a shell. */
function quoted(path: string): string {
  return /^[\w./@:+-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
