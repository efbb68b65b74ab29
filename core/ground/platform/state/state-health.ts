import { randomBytes } from "node:crypto";
import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { open, rm, stat } from "node:fs/promises";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { codeOf, isFullDisk, isVague, type WriteFault, writeFault } from "../../errors/write-fault.ts";
import { startBackgroundTimer } from "../engine/background-timer.ts";
import { diskSpace } from "./disk-space.ts";
import { join } from "../files/paths.ts";
import { pid } from "../engine/platform.ts";
import { shareCalls } from "../engine/share-calls.ts";
import { onRefusal } from "./write-faults.ts";

/** Why the state cannot be written, since when, and which file showed it. */
export interface StateProblem extends WriteFault {
  /** As `state`, without the name of the folder. */
  told: string;
  /** RFC 3339, UTC. */
  since: string;
  file: string;
}

interface StateHealthOptions {
  /** The state folder, as sentences name it. */
  folder: string;
  /** The part of it that this host writes. */
  part: string;
  /** Called with each new problem, and with null once it is over. */
  onChange?: (problem: StateProblem | null) => void;
  /** How often the state is tried while it cannot be written. Milliseconds. */
  everyMs?: number;
}

/** How long a look counts. Milliseconds. */
const freshMs = 1000;
const probeBytes = 4096;
/** Room that a disk must have again once it was full; on a small one a twentieth of it. Bytes. */
const roomBytes = 1024 * 1024;

/**
 * Knows whether a host's state can be written. The journal reports its failures; any other refused write in the folder
 * makes it try for itself, since an agent can make a folder of its own that refuses. The first cause is kept until the
 * state can be written again, which is tried every second.
 */
export class StateHealth {
  readonly #options: Required<StateHealthOptions>;
  readonly #checks: (() => Promise<void>)[] = [];
  readonly #look = shareCalls(() => this.#try());
  readonly #unwatch: () => void;
  #problem: StateProblem | null = null;
  #lookedAt = -Infinity;
  #seenAt = -Infinity;
  #cancel = (): void => {};
  #isLooking = false;
  #isClosed = false;

  constructor(options: StateHealthOptions) {
    this.#options = { onChange: () => {}, everyMs: 1000, ...options };
    this.#unwatch = onRefusal(options.folder, () => this.#lookSoon());
  }

  /** The problem that stands; null while the state can be written. */
  get problem(): StateProblem | null {
    return this.#problem;
  }

  /** Adds something that must work, too, before the state counts as writable again. */
  addCheck(check: () => Promise<void>): void {
    this.#checks.push(check);
  }

  /** Says what keeps the state from being written where this error is about that; null for any other error. */
  faultOf(error: unknown): WriteFault | null {
    const { folder, part } = this.#options;
    const sure = isVague(error) ? tryNow(join(part, "probe-now")) ?? error : error;
    return faultIn(folder, sure);
  }

  /** Takes a failed write of the host's own. */
  report(error: unknown, file: string): void {
    const fault = this.faultOf(error);
    if (fault !== null) this.#begin(fault, file);
  }

  /** Tries whether the state can be written, at most once a second; never rejects. */
  async look(): Promise<StateProblem | null> {
    if (this.#isClosed || performance.now() - this.#lookedAt < freshMs) return this.#problem;
    this.#lookedAt = performance.now();
    await this.#look();
    return this.#problem;
  }

  /** Takes a write that worked: it also works in a file whose folder was removed, which is looked for once a second. */
  noteWrite(): void {
    if (performance.now() - this.#seenAt < freshMs) return;
    this.#seenAt = performance.now();
    const { folder, part } = this.#options;
    stat(part).catch((error: unknown) => {
      const fault = codeOf(error) === gone ? faultIn(folder, error) : null;
      if (fault !== null) this.#begin(fault, part);
    });
  }

  /** @throws {BulkheadError} `journal_error` while the state cannot be written */
  async demand(act: string): Promise<void> {
    const problem = await this.look();
    if (problem !== null) throw faultError(act, problem);
  }

  close(): void {
    this.#isClosed = true;
    this.#unwatch();
    this.#cancel();
  }

  /** Looks at a refusal, also one that follows a look. */
  #lookSoon(): void {
    if (this.#isClosed || this.#problem !== null || this.#isLooking) return;
    this.#isLooking = true;
    const ms = Math.max(0, this.#lookedAt + freshMs - performance.now());
    this.#cancel = startBackgroundTimer(() => {
      this.#isLooking = false;
      void this.look();
    }, Math.ceil(ms) + 1);
  }

  async #try(): Promise<void> {
    const { folder, part } = this.#options;
    // Files that are open in a folder that is gone are written to nowhere: only another host makes them again.
    if (this.#isClosed || this.#problem?.code === gone) return;
    try {
      await tryToWrite(join(part, "probe"), await this.#bytesToTry());
      if (this.#problem === null) return;
      for (const check of this.#checks) await check();
      if (!this.#isClosed) this.#end();
    } catch (error) {
      const fault = faultIn(folder, error);
      if (fault !== null) this.#begin(fault, part);
    }
  }

  /** A disk that was full counts as full until it has room for more than the next event. */
  async #bytesToTry(): Promise<number> {
    if (this.#problem === null || !isFullDisk(this.#problem)) return probeBytes;
    const total = (await diskSpace(this.#options.part))?.total ?? Infinity;
    return Math.max(probeBytes, Math.min(roomBytes, Math.floor(total / 20)));
  }

  #begin(fault: WriteFault, file: string): void {
    if (this.#problem !== null || this.#isClosed) return;
    const told = fault.state.replace(`"${this.#options.folder}"`, "the state folder");
    this.#problem = { ...fault, told, since: new Date().toISOString(), file };
    this.#tryLater();
    this.#options.onChange(this.#problem);
  }

  #end(): void {
    this.#problem = null;
    this.#cancel();
    this.#options.onChange(null);
  }

  #tryLater(): void {
    if (this.#isClosed || this.#problem === null) return;
    this.#cancel = startBackgroundTimer(() => void this.#look().then(() => this.#tryLater()), this.#options.everyMs);
  }
}

/** Makes the error for what cannot be done while the state cannot be written. */
export function faultError(act: string, { code, state, hint }: WriteFault, cause?: unknown): BulkheadError {
  return new BulkheadError("journal_error", `${act}: ${state}.`, { hint, details: { cause_code: code }, cause });
}

/** Says why a folder cannot be written; null where it can, or where there is none. */
export async function whyUnwritable(folder: string): Promise<WriteFault | null> {
  return await tryToWrite(join(folder, `probe-${pid}`), probeBytes).then(
    () => null,
    (error: unknown) => writeFault(error, `"${folder}"`),
  );
}

const gone = "ENOENT";

function faultIn(folder: string, error: unknown): WriteFault | null {
  if (codeOf(error) !== gone) return writeFault(error, `"${folder}"`);
  const hint = "Restart the host: it makes a new one, without the sessions of the old.";
  return { code: gone, state: `"${folder}" is gone`, hint };
}

async function tryToWrite(file: string, bytes: number): Promise<void> {
  try {
    const handle = await open(file, "w", 0o600);
    try {
      await handle.writeFile(randomBytes(bytes));
      // Some systems refuse only now.
      if (bytes > probeBytes) await handle.sync();
    } finally {
      await handle.close();
    }
  } finally {
    await rm(file, { force: true });
  }
}

/** Returns why a file cannot be written; null where it can. */
function tryNow(file: string): unknown {
  try {
    const handle = openSync(file, "w", 0o600);
    try {
      writeSync(handle, new Uint8Array(probeBytes));
    } finally {
      closeSync(handle);
    }
    rmSync(file, { force: true });
    return null;
  } catch (error) {
    return error;
  }
}
