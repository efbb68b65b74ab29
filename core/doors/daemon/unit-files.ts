/** The command that starts a daemon. */
export interface UnitOptions {
  /** Program and arguments; the program an absolute path. */
  command: readonly string[];
  /** Folder that it runs in. Absolute path. */
  workdir: string;
  /** Variables that it needs. */
  env: Readonly<Record<string, string>>;
  /** How long it may take to end. Milliseconds. */
  stopMs: number;
}

/** Name of the systemd unit, and of its file. */
export const systemdUnitName = "bulkhead.service";

/** Label of the launchd agent; its file is this and `.plist`. */
export const launchdLabel = "io.bulkhead.daemon";

/** A systemd user unit (see systemd.service(5)) that runs the daemon, reloads it and starts it again after a crash. */
export function systemdUnit({ command, workdir, env, stopMs }: UnitOptions): string {
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
    "Restart=on-failure",
    "RestartSec=2",
    // The daemon ends its agents itself, and tells of each how it ended.
    "KillMode=mixed",
    `TimeoutStopSec=${Math.ceil(stopMs / 1000)}`,
    "UMask=0077",
    "",
    "[Install]",
    "WantedBy=default.target",
    "",
  ].join("\n");
}

/** A launchd agent (see launchd.plist(5)) that runs the daemon and starts it again after a crash. */
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

/** One word of a command or an assignment, quoted as systemd.syntax(7) has it. */
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
