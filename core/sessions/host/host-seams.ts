import type { Journal } from "../../records/journal/journal.ts";
import type { ElsewhereSessions } from "./elsewhere-sessions.ts";

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
}
