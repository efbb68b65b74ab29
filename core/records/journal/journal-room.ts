import type { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { isFullDisk, type WriteFault, writeFault } from "../../ground/errors/write-fault.ts";
import type { DiskReserve } from "../../ground/platform/state/disk-reserve.ts";
import { dirname } from "../../ground/platform/files/paths.ts";
import { faultError, type StateHealth } from "../../ground/platform/state/state-health.ts";
import { journalError } from "./journal-error.ts";

/** Parts of the health of a state that a journal uses. */
type JournalHealth = Pick<StateHealth, "problem" | "faultOf" | "report" | "addCheck" | "noteWrite">;

/** Collaborators of {@link JournalRoom}. */
export interface JournalRoomDeps {
  /** Room that is given up when the disk is full. */
  reserve: Pick<DiskReserve, "giveUp"> | undefined;
  health: JournalHealth | undefined;
}

/**
 * When writers take room of the reserve, and how often: what fills the disk takes each portion that is given up before it
 * is ended, which the host needs about a second for. Milliseconds.
 */
const reserveAfterMs = 1500;
const portionEveryMs = 400;

/** Room for a journal's writers on a full disk, and the words for what is refused to them. */
export class JournalRoom {
  readonly #file: string;
  readonly #waitMs: number;
  readonly #reserve: JournalRoomDeps["reserve"];
  readonly #health: JournalRoomDeps["health"];
  /** When the disk began to be full; null while it is not. */
  #fullSince: number | null = null;
  #nextPortionAt = 0;

  /** @param options.waitMs how long writers wait for room */
  constructor(file: string, { waitMs, reserve, health }: { waitMs: number } & JournalRoomDeps) {
    this.#file = file;
    this.#waitMs = waitMs;
    this.#reserve = reserve;
    this.#health = health;
  }

  /** Whether the disk is, or was a moment ago, full. */
  get isShort(): boolean {
    return this.#fullSince !== null;
  }

  /**
   * Writes, and once more with room of the reserve where the disk stays full.
   * @param last for what must not be missing: it may have the last of the room
   */
  write<T>(act: () => T, { last = false }: { last?: boolean } = {}): T {
    try {
      return this.#done(act());
    } catch (error) {
      if (this.#fullSince === null || !this.#isFull(error)) throw error;
      const now = performance.now();
      const isLate = now - this.#fullSince >= this.#waitMs;
      if (isLate ? !last : now < this.#nextPortionAt) throw error;
      this.#nextPortionAt = now + portionEveryMs;
      // From now on no session starts: the room is for those that run.
      this.#health?.report(error, this.#file);
      if (this.#reserve?.giveUp({ last: isLate }) !== true) throw error;
      return act();
    }
  }

  /** Whether what failed with this error may be tried again a little later. */
  mayWait(error: unknown): boolean {
    if (!this.#isFull(error)) return false;
    const now = performance.now();
    if (this.#fullSince === null) {
      this.#fullSince = now;
      this.#nextPortionAt = now + reserveAfterMs;
    }
    return now - this.#fullSince < this.#waitMs;
  }

  /** Reports a failed write, and makes its error. */
  failed(error: unknown): BulkheadError {
    this.#health?.report(error, this.#file);
    return journalError(`Cannot write the journal "${this.#file}"`, error, this.#faultOf(error) ?? undefined);
  }

  /** @throws {BulkheadError} `journal_error` where the file's folder was removed: what is written would be lost */
  demandFolder(): void {
    const problem = this.#health?.problem ?? null;
    if (problem?.code === "ENOENT") throw faultError(`Cannot write the journal "${this.#file}"`, problem);
  }

  /** Takes a write that worked; one with room of the reserve says nothing of the disk. */
  #done<T>(value: T): T {
    if ((this.#health?.problem ?? null) === null) this.#fullSince = null;
    this.#health?.noteWrite();
    return value;
  }

  #faultOf(error: unknown): WriteFault | null {
    return this.#health === undefined ? writeFault(error, `"${dirname(this.#file)}"`) : this.#health.faultOf(error);
  }

  #isFull(error: unknown): boolean {
    const fault = this.#faultOf(error);
    return fault !== null && isFullDisk(fault);
  }
}
