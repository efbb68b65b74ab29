import { readFileSync } from "node:fs";
import { open, readFile, rm } from "node:fs/promises";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { codeOf, folderFault } from "../../errors/write-fault.ts";
import { randomId } from "../files/hash.ts";
import { holderText, isAlive, livesHere, type LockHolder, parseHolder, thisHolder } from "./lock-holder.ts";
import { isOsLockHeld, lockedFile, type OsLock, takeOsLock } from "./os-lock.ts";
import { dirname } from "../files/paths.ts";
import { sleep } from "../engine/wait.ts";

/** A lock that this process holds until it releases it or ends. */
export interface HeldLock {
  /** The holder before, where it ended without releasing the lock. */
  left: LockHolder | null;
  /**
   * Releases the lock.
   * @param options.restores puts back a record that an older version left: its holder turned out to live elsewhere
   */
  release(options?: { restores?: boolean }): Promise<void>;
}

/** A lock that another one holds: who, where that is known. */
export interface LockOfAnother {
  holder: LockHolder | null;
}

interface TakeLockOptions {
  /** The command or program that this process runs, for those who must wait for it. */
  program?: string | undefined;
  /** Holds the lock also where the disk has no room for the record: of use to those who make room. */
  unrecorded?: boolean;
}

/** Interval between attempts to take a lock that another process holds. Milliseconds. */
const pauseMs = 50;

/**
 * How long a lock whose record names no living process may be held before it counts as held: others look at it for a
 * moment, and a record follows its lock. Milliseconds.
 */
const settleMs = 300;

/**
 * Takes a lock. The operating system holds it, on the file `<lock>.held`; `<lock>` is a record that tells others
 * whose it is, and that versions which know no more than records respect. Its folder must exist.
 * @throws {BulkheadError} `io_error` where it can be neither taken nor found to be another's
 */
export async function takeLock(lock: string, options: TakeLockOptions = {}): Promise<HeldLock | LockOfAnother> {
  try {
    for (const end = performance.now() + settleMs;; await sleep(5 + Math.random() * 20)) {
      const holder = await readLockFile(lock);
      const lives = holder === null ? null : isSurely(holder, lock);
      if (lives === true) return { holder };
      const taken = await takeOsLock(osFileOf(lock));
      if (taken !== null) return await record(lock, taken, options);
      if (performance.now() < end) continue;
      await demandLocks(lock);
      return { holder: lives === false ? null : holder };
    }
  } catch (error) {
    throw lockError(lock, error);
  }
}

/**
 * Runs an action while no other process with the same lock runs one.
 * @param options.what the thing being changed, for the error
 * @param options.waitMs timeout for the other process
 * @throws {BulkheadError} `busy` when the other process has not ended after this time; `io_error` as {@link takeLock}
 */
export async function withLockFile<T>(
  lock: string,
  { what, waitMs }: { what: string; waitMs: number },
  act: () => Promise<T>,
): Promise<T> {
  const end = Date.now() + waitMs;
  let taken = await takeLock(lock, { unrecorded: true });
  while (!("release" in taken) && Date.now() < end) {
    await sleep(pauseMs);
    taken = await takeLock(lock, { unrecorded: true });
  }
  if (!("release" in taken)) throw stillHeld(taken.holder, what);
  try {
    return await act();
  } finally {
    await taken.release();
  }
}

function stillHeld(holder: LockHolder | null, what: string): BulkheadError {
  return new BulkheadError("busy", `Cannot change ${what}: ${holderText(holder)} is changing it.`, {
    hint: "Try again when that has ended.",
    details: { pid: holder?.pid ?? null },
  });
}

/**
 * Reads the record of a lock, alive or not; null when there is none, or a process was killed while it wrote it.
 * @throws {Error} of the file system
 */
async function readLockFile(lock: string): Promise<LockHolder | null> {
  const text = await readFile(lock, "utf8").catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  });
  return text === null ? null : parseHolder(text);
}

/** Finds the process that a lock's record names, and whether it holds the lock now. Changes nothing. */
export async function findHolder(lock: string): Promise<{ holder: LockHolder; holds: boolean } | null> {
  try {
    const holder = await readLockFile(lock);
    if (holder === null) return null;
    return { holder, holds: isSurely(holder, lock) ?? isOsLockHeld(osFileOf(lock)) };
  } catch (error) {
    throw lockError(lock, error);
  }
}

/** Whether this very process holds a lock now, wherever it runs. Reads at once. */
export function isHeldBy({ pid, start, system }: LockHolder, lock: string): boolean {
  try {
    const holder = parseHolder(readFileSync(lock, "utf8"));
    return holder?.pid === pid && holder.start === start && holder.system === system && isOsLockHeld(osFileOf(lock));
  } catch (error) {
    // One that cannot be asked may well hold it.
    return codeOf(error) !== "ENOENT";
  }
}

function osFileOf(lock: string): string {
  return `${lock}.held`;
}

/** Whether a process of this system holds the lock that its record lies beside; null where only the lock itself can tell. */
function isSurely(holder: LockHolder, lock: string): boolean | null {
  const lives = livesHere(holder);
  if (lives !== true || holder.file === undefined) return lives;
  // The record of a copied folder names a process that holds another file. Where the file was removed, the process counts.
  const file = lockedFile(osFileOf(lock));
  return file === null || file === holder.file ? true : null;
}

/** Writes the record of a lock that the operating system has given to this process. */
async function record(
  lock: string,
  taken: OsLock,
  { program, unrecorded = false }: TakeLockOptions,
): Promise<HeldLock | LockOfAnother> {
  try {
    const left = await readLockFile(lock);
    // An older version knows of no other lock than this record.
    if (left !== null && left.system === undefined && isAlive(left)) return await taken.release(), { holder: left };
    await rm(lock, { force: true });
    const text = JSON.stringify(thisHolder({ program: program ?? null, file: taken.file }));
    const isWritten = await writeRecord(lock, text).catch((error: unknown) => {
      if (unrecorded && noRoom.has(codeOf(error))) return true;
      throw error;
    });
    if (!isWritten) return await taken.release(), { holder: await readLockFile(lock) };
    return {
      left,
      release: ({ restores = false } = {}) =>
        releaseBoth(lock, { text, taken, before: restores && left?.system === undefined ? left : null }),
    };
  } catch (error) {
    await taken.release();
    throw error;
  }
}

/** The record goes first, and only if it is still this process's own. */
async function releaseBoth(
  lock: string,
  { text, taken, before }: { text: string; taken: OsLock; before: LockHolder | null },
): Promise<void> {
  try {
    if (await readFile(lock, "utf8").catch(() => "") !== text) return;
    await rm(lock, { force: true });
    if (before !== null) await writeRecord(lock, JSON.stringify(before));
  } finally {
    await taken.release();
  }
}

/** False where an older version has made its own at the same moment. */
async function writeRecord(lock: string, text: string): Promise<boolean> {
  const file = await open(lock, "wx", 0o600).catch((error: unknown) => {
    if (codeOf(error) === "EEXIST") return null;
    throw error;
  });
  if (file === null) return false;
  try {
    await file.writeFile(text).finally(() => file.close());
    return true;
  } catch (error) {
    await rm(lock, { force: true });
    throw error;
  }
}

const noRoom = new Set(["ENOSPC", "EDQUOT"]);

/**
 * Tells a lock that is held from a file system without locks, which SQLite does not: there a file that no other process
 * can know is "held" as well.
 */
async function demandLocks(lock: string): Promise<void> {
  const file = `${osFileOf(lock)}.${randomId()}`;
  try {
    const taken = await takeOsLock(file);
    if (taken === null) throw Object.assign(new Error("No locks are available."), { code: "ENOLCK" });
    await taken.release();
  } finally {
    await rm(file, { force: true });
  }
}

function lockError(lock: string, cause: unknown): unknown {
  if (cause instanceof BulkheadError) return cause;
  const { state, hint } = folderFault(cause, dirname(lock));
  return new BulkheadError("io_error", `Cannot take the lock "${lock}": ${state}.`, { hint, cause });
}
