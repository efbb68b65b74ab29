import { pino } from "pino";
import type { DaemonSettings } from "../../ground/config/daemon-settings.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import { openRotatingFile } from "../../ground/platform/files/rotating-file.ts";

/** The log of a daemon. */
export interface DaemonLog {
  write(record: LogRecord): void;
  setLevel(level: LogRecord["level"]): void;
  close(): void;
}

interface DaemonLogOptions extends Pick<DaemonSettings, "log_level" | "log_file_bytes" | "log_files"> {
  file: string;
  /** Also receives each line, for the terminal. */
  echo?: ((line: string) => void) | undefined;
}

/**
 * Opens the daemon's log: one JSON object per line with `level`, `time` (RFC 3339, UTC), `message` and, where known,
 * `plugin_id`, `session_id` and `fields`.
 * @throws {Error} of the file system when the file cannot be opened
 */
export function openDaemonLog(options: DaemonLogOptions): DaemonLog {
  const { file, echo, log_level, log_file_bytes, log_files } = options;
  const target = openRotatingFile(file, { maxBytes: log_file_bytes, keep: log_files });
  const logger = pino({
    base: null,
    level: log_level,
    messageKey: "message",
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  }, {
    write(line) {
      target.write(line);
      echo?.(line);
    },
  });
  return {
    write: ({ level, message, ...facts }) => logger[level](facts, message),
    setLevel: (level) => {
      logger.level = level;
    },
    close: () => target.close(),
  };
}
