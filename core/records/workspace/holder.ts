import { isAlive as isProcessAlive } from "../../ground/runtime/lock-holder.ts";
import { pid } from "../../ground/runtime/platform.ts";
import { processStart } from "../../ground/runtime/process-rows.ts";
import type { Holder } from "./workspace-record.ts";

let own: Holder | null = null;

/** This process, as a file names it. */
export function thisProcess(): Holder {
  return own ??= { pid, start: processStart(pid) };
}

/** True while the process is there. */
export function isAlive(holder: Holder | null): boolean {
  return holder !== null && isProcessAlive(holder);
}
