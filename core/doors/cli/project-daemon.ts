import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { appendFile, readFile } from "../../ground/platform/files/files.ts";
import { sha256Hex } from "../../ground/platform/files/hash.ts";
import type { DaemonRecord } from "../daemon/daemon-record.ts";
import type { DaemonPlace } from "./daemon-place.ts";
import { safeLine } from "./render/agent-text.ts";

/** Returns the host manifest of the other project that a daemon serves; null where it serves this one or none. */
export function otherProject(
  { config_file }: Pick<DaemonRecord, "config_file">,
  { configFile }: Pick<DaemonPlace, "configFile">,
): string | null {
  return config_file === null || configFile === undefined || config_file === configFile ? null : config_file;
}

/**
 * Refuses to start, stop, restart or reload the daemon of another project.
 * @param act what was asked for, for example `stop the daemon`
 * @throws {BulkheadError} `busy` with the commands that give this project a daemon of its own
 */
export function demandOwnProject(
  record: Pick<DaemonRecord, "config_file"> | null,
  { place, act }: { place: Pick<DaemonPlace, "configFile">; act: string },
): void {
  const other = record === null ? null : otherProject(record, place);
  if (other === null) return;
  throw new BulkheadError("busy", `Cannot ${act}: the running one serves another project, ${safeLine(other)}.`, {
    hint: [
      "Give this project a daemon of its own, with a state folder and a port of its own:",
      "    bulkhead start --state-dir .bulkhead --port 0",
      '    bulkhead run --state-dir .bulkhead "…"',
      '  or set "state_dir: .bulkhead" and "daemon: { port: 0 }" in bulkhead.yaml, and leave out the flags.',
      `  To act on the other one, name it: --config ${safeLine(other)}`,
    ].join("\n"),
    details: { config_file: other },
  });
}

/** Whether a person was not told yet of something about the daemon; it remembers until the daemon's next start. */
export async function isFirstNotice(notices: string, about: string): Promise<boolean> {
  const told = await readFile(notices, "utf8").catch(() => "");
  const name = sha256Hex(about);
  if (told.includes(name)) return false;
  await appendFile(notices, `${name}\n`, { mode: 0o600 }).catch(() => undefined);
  return true;
}
