import type { HostEvent } from "../../../plugin-sdk/envelope.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import type { CrashStore } from "../../walls/pool/plugin-health.ts";
import type { Stream } from "../session/merged-log.ts";

type WriteLog = (record: LogRecord) => void;

/** Writes the start, the end and a lost worker of each session to the host's log, never under a `plugin_id`. */
export function logSession({ sessionId: session_id, adapter }: Stream, event: HostEvent, writeLog: WriteLog): void {
  const { id } = adapter;
  switch (event.type) {
    case "session_started":
      return writeLog({
        level: "info",
        message: `A session of ${id} started.`,
        session_id,
        fields: { workdir: event.workdir },
      });
    case "session_ended": {
      const { outcome, stop_reason, error, usage: { duration_ms } } = event.result;
      const fields = { outcome, stop_reason, duration_ms, error: error?.code };
      const level = outcome === "error" ? "warn" : "info";
      return writeLog({ level, message: `A session of ${id} ended: ${outcome} (${stop_reason}).`, session_id, fields });
    }
    case "worker": {
      const { state, message } = event;
      return writeLog({ level: "warn", message: `A worker of ${id} ended early (${state}): ${message}`, session_id });
    }
    default:
      return;
  }
}

/** Makes a store of crash records write to the host's log when a plugin comes into quarantine. */
export function logQuarantine<S extends CrashStore>(store: S, writeLog: WriteLog): S {
  return {
    ...store,
    write: async (record) => {
      const { plugin_id, crashes, quarantined_at } = record;
      if (quarantined_at !== null && crashes.at(-1)?.at === quarantined_at) {
        const message =
          `Plugin "${plugin_id}" is in quarantine after ${
            crashes.length === 1 ? "a crash" : `${crashes.length} crashes`
          }. ` +
          `To release it: bulkhead plugin release ${plugin_id}`;
        writeLog({ level: "warn", message });
      }
      await store.write(record);
    },
  };
}
