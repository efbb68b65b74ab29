import { BulkheadError } from "../../plugin-sdk/errors.ts";
import { mkdir, open, readFile, realpath, rm } from "../runtime/files.ts";
import { join } from "../runtime/paths.ts";
import { pid } from "../runtime/platform.ts";
import { processIsAlive } from "../runtime/process-alive.ts";
import { processStart } from "../runtime/process-rows.ts";

/** A folder of state that is this host's alone while it runs. */
export interface StateClaim {
  /** Real absolute path of all state, whoever holds it. */
  root: string;
  /** Real absolute path of this host's part. */
  folder: string;
  release(): Promise<void>;
}

const most = 64;

/**
 * Takes the first free part of the state folder. Hosts that run at the same time each have a journal of their own; the
 * next host takes up the first again, so that its numbers go on rising.
 * @throws {BulkheadError} `busy` when all parts are taken, `io_error` when the folder cannot be written
 */
export async function claimState(stateDir: string): Promise<StateClaim> {
  for (let number = 1; number <= most; number++) {
    const part = join(stateDir, `host-${number}`);
    try {
      await mkdir(part, { recursive: true, mode: 0o700 });
    } catch (cause) {
      throw new BulkheadError("io_error", `Cannot write to the state folder "${stateDir}".`, {
        hint: "Name another one with --state-dir.",
        cause,
      });
    }
    const lock = join(part, "lock");
    if (!(await take(lock)) && !((await isStale(lock)) && (await retake(lock)))) continue;
    return {
      root: await realpath(stateDir),
      folder: await realpath(part),
      release: () => rm(lock, { force: true }),
    };
  }
  throw new BulkheadError("busy", `${most} hosts use the state folder "${stateDir}" already.`, {
    hint: "Stop one, or name another folder with --state-dir.",
  });
}

async function take(lock: string): Promise<boolean> {
  try {
    const file = await open(lock, "wx", 0o600);
    await file.writeFile(JSON.stringify({ pid, start: processStart(pid) }));
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
    if (typeof holder !== "object" || holder === null || !("pid" in holder) || typeof holder.pid !== "number") return true;
    if (!processIsAlive(holder.pid)) return true;
    const start = "start" in holder ? holder.start : null;
    return start !== null && processStart(holder.pid) !== start;
  } catch {
    // Being written at this moment, or gone: the next part is free in any case.
    return false;
  }
}

async function retake(lock: string): Promise<boolean> {
  await rm(lock, { force: true });
  return await take(lock);
}
