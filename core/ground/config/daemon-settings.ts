/** How the daemon is run: `daemon:` of the host manifest. All but `log_level` need a restart to take effect. */
export interface DaemonSettings {
  /** TCP port on 127.0.0.1; 0: any that is free. */
  port: number;
  /** How long running sessions may go on after SIGTERM before they are interrupted. Milliseconds. */
  drain_ms: number;
  /** The least important records that the log takes. */
  log_level: "debug" | "info" | "warn" | "error";
  /** Bytes of a log file, after which a new one is begun. */
  log_file_bytes: number;
  /** Log files that are kept beside the one that is written. */
  log_files: number;
}

/** What holds where the host manifest says nothing. */
export const defaultDaemonSettings: DaemonSettings = {
  port: 7717,
  drain_ms: 30_000,
  log_level: "info",
  log_file_bytes: 8 * 1024 * 1024,
  log_files: 4,
};
