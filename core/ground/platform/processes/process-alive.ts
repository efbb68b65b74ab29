import process from "node:process";
import { readRow } from "./process-rows.ts";

/** True while a process with this pid runs, also one of another user. A zombie has ended. */
export function processIsAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
  return readRow(pid)?.zombie !== true;
}
