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
  const { file, text, enable } = await systemUnitOf(call);
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
  const lines = [`Wrote ${file}.`, "Start it now and at every login:", ...enable.map((line) => `  ${line}`)];
  return await tell(call, { file, enable }, lines.join("\n"));
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
  const config = configFile === undefined ? [] : ["--config", configFile];
  const unit = {
    command: [...ownCommand(), "up", "--state-dir", stateDir, ...config],
    workdir: configFile === undefined ? terminal.cwd : dirname(configFile),
    env: Object.fromEntries(set),
    stopMs: (manifest?.daemon?.drain_ms ?? defaultDaemonSettings.drain_ms) + closingMs,
  };
  const system = options["system"] ?? (platform === "darwin" ? "launchd" : "systemd");
  const home = terminal.env("HOME") ?? "";
  if (system === "launchd") {
    const file = join(home, "Library", "LaunchAgents", `${launchdLabel}.plist`);
    return {
      file,
      text: launchdPlist(unit),
      enable: [`launchctl bootstrap gui/$(id -u) ${quoted(file)}`],
      disable: [`launchctl bootout gui/$(id -u)/${launchdLabel}`],
    };
  }
  const ownConfig = terminal.env("XDG_CONFIG_HOME");
  const configHome = ownConfig && isAbsolute(ownConfig) ? ownConfig : join(home, ".config");
  return {
    file: join(configHome, "systemd", "user", systemdUnitName),
    text: systemdUnit(unit),
    enable: ["systemctl --user daemon-reload", `systemctl --user enable --now ${systemdUnitName}`],
    disable: [`systemctl --user disable --now ${systemdUnitName}`, "systemctl --user daemon-reload"],
  };
}

/** Quotes a path as one word of a shell. */
function quoted(path: string): string {
  return /^[\w./@:+-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
