import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { codeOf, isVague, type WriteFault, writeFault } from "../../ground/errors/write-fault.ts";
import { faultError } from "../../ground/platform/state/state-health.ts";
import { damageIn } from "./damage.ts";

const damagedHint =
  "A host sets it aside when it starts, or within a minute where it runs, and keeps what can be read. For a file of another program, set another state_dir.";

/** Hints for the operator, by the code of SQLite or of the file system, where the cause is not known better. */
const hints: Readonly<Record<string, string>> = {
  SQLITE_NOTADB: damagedHint,
  SQLITE_CORRUPT: damagedHint,
  SQLITE_IOERR: "The file is damaged or its disk is: move it away, or set another state_dir.",
  SQLITE_BUSY: "Another process writes to it: stop that host, or set another state_dir.",
  SQLITE_READONLY: "Give the host the right to write the file and its folder.",
  ENOENT: "Make the folder, or set another state_dir.",
  ENOTDIR: "Make the folder, or set another state_dir.",
};

/**
 * Wraps a failure of the journal as a `journal_error`.
 * @param act for example `Cannot open the journal "/x/journal.db"`
 * @param fault what keeps it from being written, where that is known
 */
export function journalError(
  act: string,
  cause: unknown,
  fault: WriteFault | null = (isVague(cause) ? null : writeFault(cause, "the journal")),
): BulkheadError {
  if (cause instanceof BulkheadError) return cause;
  if (fault !== null) return faultError(act, fault, cause);
  const message = cause instanceof Error ? cause.message : String(cause);
  const code = codeOf(cause);
  const isDamaged = code === "" && damageIn(cause) !== null;
  const hint = isDamaged
    ? damagedHint
    : hints[code] ?? Object.entries(hints).find(([start]) => code.startsWith(`${start}_`))?.[1] ??
      "Check that the file can be written and is of this program, or set another state_dir.";
  return new BulkheadError("journal_error", `${act}: ${message}.`, { hint, details: { cause_code: code }, cause });
}

/** Error of every call once a journal is closed: its host stops, or a machine joins its cluster again. */
export function closedError(): BulkheadError {
  return new BulkheadError("host_closed", "Cannot use the journal: it is closed.", {
    hint: "Try again when the host runs again.",
  });
}
