import { defaultDaemonSettings } from "../../ground/config/daemon-settings.ts";
import { launchdLabel, launchdPlist, systemdUnit, systemdUnitName } from "../daemon/unit-files.ts";
import { ownCommand } from "../../ground/runtime/own-command.ts";
import { dirname, isAbsolute, join } from "../../ground/runtime/paths.ts";
import { platform } from "../../ground/runtime/platform.ts";
import type { Invocation } from "./command.ts";
import { daemonPlace } from "./daemon-place.ts";

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
export async function systemUnitOf(call: Invocation): Promise<SystemUnit> {
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
