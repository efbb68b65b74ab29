/** How the daemon is run: `daemon:` of the host manifest. All but `log_level` need a restart to take effect. */
export interface DaemonSettings {
  /** TCP port on 127.0.0.1; 0: any free port. */
  port: number;
  /** Other addresses, with their ports, at which programs may come in, as through a forwarded port. */
  addresses: readonly string[];
  /** How long running sessions may go on after SIGTERM before they are interrupted. Milliseconds. */
  drain_ms: number;
  /** Lowest level that the log records. */
  log_level: "debug" | "info" | "warn" | "error";
  /** Bytes of a log file; a full one is rotated. */
  log_file_bytes: number;
  /** Rotated log files to keep beside the current one. */
  log_files: number;
}

/** Defaults for settings that the host manifest omits. */
export const defaultDaemonSettings: DaemonSettings = {
  port: 7717,
  addresses: [],
  drain_ms: 30_000,
  log_level: "info",
  log_file_bytes: 8 * 1024 * 1024,
  log_files: 4,
};
