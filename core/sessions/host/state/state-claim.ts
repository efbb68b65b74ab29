import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { mkdir, readdir, realpath } from "../../../ground/platform/files/files.ts";
import { type HeldLock, type LockOfAnother, takeLock } from "../../../ground/platform/state/lock-file.ts";
import { holderText } from "../../../ground/platform/state/lock-holder.ts";
import { basename, join } from "../../../ground/platform/files/paths.ts";
import { demandOwnState } from "./state-folder.ts";

/** A part of the state folder that this host alone holds while it runs. */
export interface StateClaim {
  /** Real absolute path of all state, shared by all hosts. */
  root: string;
  /** Real absolute path of this host's part. */
  folder: string;
  /** Held as long as this host runs; absolute path. */
  lock: string;
  release(): Promise<void>;
}

interface ClaimOptions {
  /**
   * Takes the first part or fails: a host that serves clients for long must not leave their sessions in another part.
   */
  onlyFirst?: boolean | undefined;
  /** The command or program that takes it, for those who must wait for it. */
  program?: string | undefined;
}

const most = 64;

/**
 * Takes the first free part of the state folder. Hosts that run at the same time each have their own journal; the next
 * host takes the first part again, so that its numbers keep rising.
 * @throws {BulkheadError} `busy` when all parts are taken, `io_error` when the folder cannot be written, or others may
 * write to it
 */
export async function claimState(
  stateDir: string,
  { onlyFirst = false, program }: ClaimOptions = {},
): Promise<StateClaim> {
  await demandOwnState(stateDir);
  for (let number = 1; number <= (onlyFirst ? 1 : most); number++) {
    const part = partOf(stateDir, number);
    try {
      await mkdir(part, { recursive: true, mode: 0o700 });
    } catch (cause) {
      throw new BulkheadError("io_error", `Cannot write to the state folder "${stateDir}".`, {
        hint: "Name another one with --state-dir.",
        cause,
      });
    }
    const taken = await takeLock(join(part, "lock"), { program });
    if ("release" in taken) return await claimOf(stateDir, part, taken);
    if (onlyFirst) throw heldBy(taken, stateDir);
  }
  throw new BulkheadError("busy", `The state folder "${stateDir}" already serves ${most} hosts, the most it can.`, {
    hint: "Stop one, or name another folder with --state-dir.",
  });
}

/**
 * Takes one after the other the parts of hosts that are gone and for which `isLeft` is true. The caller releases each.
 * @param options.onFailure called for a part that can be neither taken nor found to be another host's
 */
export async function* claimLeftParts(
  stateDir: string,
  { isLeft, onFailure }: { isLeft: (folder: string) => Promise<boolean>; onFailure: (error: unknown) => void },
): AsyncGenerator<StateClaim, void, void> {
  for (let number = 1; number <= most; number++) {
    const part = partOf(stateDir, number);
    if (!(await isLeft(part))) continue;
    const claim = await claimPart(stateDir, part).catch(onFailure);
    if (claim) yield claim;
  }
}

/** Returns the parts that a state folder has, in the order of their numbers; none where there is no such folder. */
export async function stateParts(stateDir: string): Promise<{ number: number; folder: string }[]> {
  const names = new Set(await readdir(stateDir).catch(() => []));
  return Array.from({ length: most }, (_, at) => ({ number: at + 1, folder: partOf(stateDir, at + 1) }))
    .filter(({ folder }) => names.has(basename(folder)));
}

/** Takes one part; null while a running host holds it. */
export function claimPartOf(stateDir: string, number: number): Promise<StateClaim | null> {
  return claimPart(stateDir, partOf(stateDir, number));
}

function heldBy({ holder }: LockOfAnother, stateDir: string): BulkheadError {
  return new BulkheadError("busy", `Cannot take the state folder "${stateDir}": ${holderText(holder)} works there.`, {
    hint: "Start again when it has ended, or name another folder with --state-dir.",
    details: { pid: holder?.pid ?? null },
  });
}

function partOf(stateDir: string, number: number): string {
  return join(stateDir, `host-${number}`);
}

/** Returns null while a running host holds it. */
async function claimPart(stateDir: string, part: string): Promise<StateClaim | null> {
  const taken = await takeLock(join(part, "lock"));
  return "release" in taken ? await claimOf(stateDir, part, taken) : null;
}

async function claimOf(stateDir: string, part: string, { release }: HeldLock): Promise<StateClaim> {
  const folder = await realpath(part);
  return { root: await realpath(stateDir), folder, lock: join(folder, "lock"), release };
}
