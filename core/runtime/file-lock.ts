import { open, rm, stat } from "node:fs/promises";
import { BulkheadError } from "../../plugin-sdk/errors.ts";

/** How often, and how many milliseconds apart, a lock is tried; one that is older is left from a crash. */
const tries = 40;
const pauseMs = 50;
const lifeMs = 10_000;

/**
 * Does something short while no other program does it that takes the same lock.
 * @param lock path of a file that is there only meanwhile
 * @param what whose change it guards, for the error
 * @throws {BulkheadError} `busy` when another program holds it
 */
export async function withFileLock<T>(lock: string, what: string, act: () => Promise<T>): Promise<T> {
  await take(lock, what);
  try {
    return await act();
  } finally {
    await rm(lock, { force: true });
  }
}

async function take(lock: string, what: string): Promise<void> {
  for (let count = 0; count < tries; count++) {
    const handle = await open(lock, "wx", 0o600).catch(() => null);
    if (handle !== null) return await handle.close();
    const info = await stat(lock).catch(() => null);
    if (info !== null && Date.now() - info.mtimeMs > lifeMs) await rm(lock, { force: true });
    else await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  throw new BulkheadError("busy", `Cannot change ${what}: another program is changing them.`, {
    hint: `If none is, remove "${lock}".`,
  });
}
