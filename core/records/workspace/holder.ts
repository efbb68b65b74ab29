import { isAlive as isProcessAlive } from "../../ground/runtime/lock-file.ts";
import { pid } from "../../ground/runtime/platform.ts";
import { processStart } from "../../ground/runtime/process-rows.ts";
import type { Holder } from "./workspace-record.ts";

/** This process, as a file names it. */
export function thisProcess(): Holder {
  return { pid, start: processStart(pid) };
}

/** True while the process is there. */
export function isAlive(holder: Holder | null): boolean {
  return holder !== null && isProcessAlive(holder);
}
