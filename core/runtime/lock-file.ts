import { open, readFile, rm, stat } from "node:fs/promises";
import process from "node:process";
import { processIsAlive } from "./process-alive.ts";
import { processStart } from "./process-rows.ts";

/**
 * Makes a file that says that something is this process's alone; null while a living process has it. One that a process
 * which is gone has left behind is taken over. The folder must exist.
 * @returns gives it back
 */
export async function takeLockFile(file: string): Promise<(() => Promise<void>) | null> {
  if (!(await take(file)) && !(await retake(file))) return null;
  return () => rm(file, { force: true });
}

async function take(lock: string): Promise<boolean> {
  try {
    const file = await open(lock, "wx", 0o600);
    await file.writeFile(JSON.stringify({ pid: process.pid, start: processStart(process.pid) }));
    await file.close();
    return true;
  } catch {
    return false;
  }
}

/** A lock is stale when its process is gone; a pid alone may have been given away again. */
async function isStale(lock: string): Promise<boolean> {
  try {
    const holder: unknown = JSON.parse(await readFile(lock, "utf8"));
    if (typeof holder !== "object" || holder === null || !("pid" in holder) || typeof holder.pid !== "number") {
      return true;
    }
    if (!processIsAlive(holder.pid)) return true;
    const start = "start" in holder ? holder.start : null;
    return start !== null && processStart(holder.pid) !== start;
  } catch {
    // Being written at this moment, or gone: it is asked for again. A process that was killed over the writing has left
    // it so for long.
    return await isOld(lock);
  }
}

/** Takes a lock from a process that is gone. Of several that try it at once one may, or one would take the other's. */
async function retake(lock: string): Promise<boolean> {
  if (!(await isStale(lock))) return false;
  const guard = `${lock}.taking`;
  if (await isOld(guard)) await rm(guard, { force: true });
  if (!(await take(guard))) return false;
  try {
    if (!(await isStale(lock))) return false;
    await rm(lock, { force: true });
    return await take(lock);
  } finally {
    await rm(guard, { force: true });
  }
}

async function isOld(file: string): Promise<boolean> {
  const info = await stat(file).catch(() => null);
  return info !== null && Date.now() - info.mtimeMs > 10_000;
}
