import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { damageIn } from "./damage.ts";

const damagedHint =
  "A host sets it aside when it starts, or within a minute where it runs, and keeps what can be read. For a file of another program, set another state_dir.";

/** Hints for the operator, by the code of SQLite or of the file system. */
const hints: Readonly<Record<string, string>> = {
  SQLITE_NOTADB: damagedHint,
  SQLITE_CORRUPT: damagedHint,
  SQLITE_IOERR: "The file is damaged or its disk is: move it away, or set another state_dir.",
  SQLITE_BUSY: "Another process writes to it: stop that host, or set another state_dir.",
  SQLITE_FULL: "Free some disk space.",
  ENOSPC: "Free some disk space.",
  SQLITE_READONLY: "Give the host the right to write the file and its folder.",
  EACCES: "Give the host the right to write the file and its folder.",
  EROFS: "Set a state_dir on a disk that can be written.",
  ENOENT: "Make the folder, or set another state_dir.",
  ENOTDIR: "Make the folder, or set another state_dir.",
};

/**
 * Wraps a failure of the journal as a `journal_error`.
 * @param act for example `Cannot open the journal "/x/journal.db"`
 */
export function journalError(act: string, cause: unknown): BulkheadError {
  if (cause instanceof BulkheadError) return cause;
  const message = cause instanceof Error ? cause.message : String(cause);
  const code = cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : "";
  const isDamaged = code === "" && damageIn(cause) !== null;
  const hint = isDamaged
    ? damagedHint
    : hints[code] ?? Object.entries(hints).find(([start]) => code.startsWith(`${start}_`))?.[1] ??
      "Check that the file can be written and is of this program, or set another state_dir.";
  return new BulkheadError("journal_error", `${act}: ${message}.`, { hint, details: { cause_code: code }, cause });
}

/** Whether a write failed because the disk had no room. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && "code" in error && fullCodes.has(String(error.code));
}

/** The last is that of the file that the connections of a journal share. */
const fullCodes = new Set(["SQLITE_FULL", "ENOSPC", "SQLITE_IOERR_SHMSIZE"]);

/** Error of every call once a journal is closed. */
export function closedError(): BulkheadError {
  return new BulkheadError("journal_error", "Cannot use the journal: it is closed.");
}
