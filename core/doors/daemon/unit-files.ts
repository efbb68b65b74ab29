/** Input for the unit files that start a daemon. */
interface UnitOptions {
  /** Program and arguments; the program is an absolute path. */
  command: readonly string[];
  /** Working directory of the daemon. Absolute path. */
  workdir: string;
  /** Environment variables that the daemon needs. */
  env: Readonly<Record<string, string>>;
  /** File of further variables, which need not be there. Absolute path; systemd alone reads one. */
  envFile: string;
  /** How long the daemon may take to end. Milliseconds. */
  stopMs: number;
}

/** Name of the systemd unit, and of its file. */
export const systemdUnitName = "bulkhead.service";

/** Label of the launchd agent; with `.plist` it is the file's name. */
export const launchdLabel = "io.bulkhead.daemon";

/** Writes a systemd user unit (see systemd.service(5)) that runs, reloads and, after a crash, restarts the daemon. */
export function systemdUnit({ command, workdir, env, envFile, stopMs }: UnitOptions): string {
  return [
    "[Unit]",
    "Description=Bulkhead, a plugin host for AI-agent adapters",
    "",
    "[Service]",
    "Type=exec",
    `WorkingDirectory=${specifiersEscaped(workdir)}`,
    `ExecStart=${command.map((word) => systemdWord(word)).join(" ")}`,
    "ExecReload=/bin/kill -HUP $MAINPID",
    ...Object.entries(env).map(([name, value]) => `Environment=${systemdWord(`${name}=${value}`, { dollars: false })}`),
    `EnvironmentFile=-${specifiersEscaped(envFile)}`,
    "Restart=on-failure",
    "RestartSec=2",
    // The daemon ends its agents itself, and records how each ended.
    "KillMode=mixed",
    `TimeoutStopSec=${Math.ceil(stopMs / 1000)}`,
    "UMask=0077",
    "",
    "[Install]",
    "WantedBy=default.target",
    "",
  ].join("\n");
}

/** Writes a launchd agent (see launchd.plist(5)) that runs the daemon and restarts it after a crash. */
export function launchdPlist({ command, workdir, env, stopMs }: UnitOptions): string {
  const words = command.map((word) => `    <string>${xml(word)}</string>`);
  const variables = Object.entries(env).flatMap(([name, value]) => [
    `    <key>${xml(name)}</key>`,
    `    <string>${xml(value)}</string>`,
  ]);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
    '<plist version="1.0">',
    "<dict>",
    "  <key>Label</key>",
    `  <string>${launchdLabel}</string>`,
    "  <key>ProgramArguments</key>",
    "  <array>",
    ...words,
    "  </array>",
    "  <key>WorkingDirectory</key>",
    `  <string>${xml(workdir)}</string>`,
    ...(variables.length === 0 ? [] : ["  <key>EnvironmentVariables</key>", "  <dict>", ...variables, "  </dict>"]),
    "  <key>RunAtLoad</key>",
    "  <true/>",
    "  <key>KeepAlive</key>",
    "  <dict>",
    "    <key>SuccessfulExit</key>",
    "    <false/>",
    "  </dict>",
    "  <key>ExitTimeOut</key>",
    `  <integer>${Math.ceil(stopMs / 1000)}</integer>`,
    "  <key>Umask</key>",
    `  <integer>${0o077}</integer>`,
    "</dict>",
    "</plist>",
    "",
  ].join("\n");
}

/** Quotes one word of a command or an assignment as systemd.syntax(7) requires. */
function systemdWord(word: string, { dollars = true }: { dollars?: boolean } = {}): string {
  const escaped = specifiersEscaped(word).replace(/["\\]/g, "\\$&").replaceAll("\n", "\\n");
  return `"${dollars ? escaped.replaceAll("$", "$$$$") : escaped}"`;
}

function specifiersEscaped(text: string): string {
  return text.replaceAll("%", "%%");
}

function xml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
