import type { Journal } from "../../records/journal/journal.ts";
import type { UseStore } from "../routing/use-files.ts";
import type { ElsewhereSessions } from "./elsewhere-sessions.ts";

/** Slots of sessions that several hosts have together. */
export interface SessionSlots {
  /**
   * Takes one for a session that is about to begin.
   * @param most sessions of all hosts together
   * @returns gives it back
   * @throws {BulkheadError} `busy`, `unavailable`
   */
  take(most: number): Promise<() => void>;
}

/** Places where something that stands above a host takes part in it. */
export interface HostSeams {
  /**
   * Opens the journal; default: `open()`.
   * @param file path of the journal
   * @param open opens that file; to be called again after what it opened was closed
   */
  openJournal?(file: string, open: () => Promise<Journal>): Promise<Journal>;
  /** Sessions of further hosts. */
  others?: readonly ElsewhereSessions[];
  /** Counts the sessions of several hosts; default: those of this host alone count. */
  slots?: SessionSlots;
  /** Shares the use of access modes with further hosts; default: with those of the state folder. */
  shareUses?(files: UseStore): UseStore;
}
