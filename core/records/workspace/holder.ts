import { isHeldBy } from "../../ground/platform/state/lock-file.ts";
import { livesHere } from "../../ground/platform/state/lock-holder.ts";
import { pid } from "../../ground/platform/engine/platform.ts";
import { processStart } from "../../ground/platform/processes/process-rows.ts";
import { systemId } from "../../ground/platform/processes/system-id.ts";
import type { Holder } from "./workspace-record.ts";

/**
 * This process, as a file names it.
 * @param lock of its part of the state folder; null where it has none
 */
export function thisProcess(lock: string | null): Holder {
  const own = { pid, start: processStart(pid) };
  return lock === null ? own : { ...own, system: systemId(), lock };
}

/** True while the process is there, in whatever container it runs. */
export function isAlive(holder: Holder | null): boolean {
  if (holder === null) return false;
  return livesHere(holder) ?? (holder.lock !== undefined && isHeldBy(holder, holder.lock));
}
