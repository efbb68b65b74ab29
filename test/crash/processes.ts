import { readdir, readFile } from "node:fs/promises";
import { processStart } from "../../core/ground/platform/processes/process-rows.ts";

/** A process of this machine. */
export interface SomeProcess {
  pid: number;
  start: string | null;
  command: string;
}

/** Every process that `/proc` shows; zombies are left out. */
export async function listAll(): Promise<SomeProcess[]> {
  const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name)).map(Number);
  const rows = await Promise.all(pids.map(async (pid) => {
    const command = (await readFile(`/proc/${pid}/cmdline`, "latin1").catch(() => "")).replaceAll("\0", " ");
    return command === "" ? [] : [{ pid, start: processStart(pid), command }];
  }));
  return rows.flat();
}
