/** One line of the host's log. */
export interface LogRecord {
  level: "debug" | "info" | "warn" | "error";
  message: string;
  plugin_id?: string;
  session_id?: string;
  fields?: unknown;
}
