import { link, open, readFile, rm, stat } from "node:fs/promises";
import { pid } from "node:process";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { randomId } from "./hash.ts";
import { processIsAlive } from "./process-alive.ts";
import { processStart } from "./process-rows.ts";

/** The process that holds a lock. */
interface LockHolder {
  pid: number;
  /** Result of `processStart()`; null where it cannot be read. */
  start: string | null;
}

/** Interval between attempts to take a lock that another process holds. Milliseconds. */
const pauseMs = 50;

/** Age after which an unreadable guard counts as left by a killed process. Milliseconds. */
const oldMs = 10_000;

/**
 * Takes a lock for this process: a free one, or one left by a process that is gone. Null while a living process has it.
 * Its folder must exist.
 * @returns releases it
 */
export async function takeLockFile(lock: string): Promise<(() => Promise<void>) | null> {
  if (!(await take(lock)) && !(await retake(lock))) return null;
  return () => rm(lock, { force: true });
}

/**
 * Runs an action while no other process with the same lock runs one.
 * @param options.what the thing being changed, for the error
 * @param options.waitMs timeout for the other process
 * @throws {BulkheadError} `busy` when the other process has not ended after this time
 */
export async function withLockFile<T>(
  lock: string,
  { what, waitMs }: { what: string; waitMs: number },
  act: () => Promise<T>,
): Promise<T> {
  const end = Date.now() + waitMs;
  let release = await takeLockFile(lock);
  while (release === null && Date.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    release = await takeLockFile(lock);
  }
  if (release === null) throw await stillHeld(lock, what);
  try {
    return await act();
  } finally {
    await release();
  }
}

async function stillHeld(lock: string, what: string): Promise<BulkheadError> {
  const pid = (await readLockFile(lock))?.pid ?? null;
  const who = pid === null ? "another process" : `process ${pid}`;
  return new BulkheadError("busy", `Cannot change ${what}: ${who} is changing it.`, {
    hint: "Try again when that has ended.",
    details: { pid },
  });
}

/** Reads the holder of a lock, alive or not; null when there is none or it cannot be read. */
export async function readLockFile(lock: string): Promise<LockHolder | null> {
  try {
    const written: unknown = JSON.parse(await readFile(lock, "utf8"));
    if (typeof written !== "object" || written === null || !("pid" in written)) return null;
    const start = "start" in written && typeof written.start === "string" ? written.start : null;
    return typeof written.pid === "number" ? { pid: written.pid, start } : null;
  } catch {
    return null;
  }
}

/**
 * True while this very process runs; a pid alone may have been reused. Where this process may not look at others, as
 * Deno has it with narrow permissions, the pid must suffice: better wait for a stranger than share a lock.
 */
export function isAlive({ pid, start }: LockHolder): boolean {
  if (!processIsAlive(pid)) return false;
  const now = start === null ? null : processStart(pid);
  return now === null || now === start;
}

/** The file gets its name only once it is complete, so that a process killed meanwhile leaves no empty lock. */
async function take(lock: string): Promise<boolean> {
  const draft = `${lock}.${randomId()}`;
  try {
    const file = await open(draft, "wx", 0o600);
    await file.writeFile(JSON.stringify({ pid, start: processStart(pid) }));
    await file.close();
    await link(draft, lock);
    return true;
  } catch {
    return false;
  } finally {
    await rm(draft, { force: true }).catch(() => undefined);
  }
}

async function isStale(lock: string): Promise<boolean> {
  const holder = await readLockFile(lock);
  if (holder !== null) return !isAlive(holder);
  // Gone just now, or not readable for us: it counts as stale only after a long time.
  return await isOld(lock);
}

/**
 * Takes a lock from a process that is gone. The guard admits one process at a time: others could take the lock that the
 * first one just took.
 */
async function retake(lock: string): Promise<boolean> {
  if (!(await isStale(lock))) return false;
  const guard = `${lock}.taking`;
  if (await isStale(guard)) await rm(guard, { force: true });
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
  return info !== null && Date.now() - info.mtimeMs > oldMs;
}
