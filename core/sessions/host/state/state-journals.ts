import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { compactJournal, type CompactReport } from "../../../records/journal/compact-journal.ts";
import { chainKeyFile } from "../../../records/journal/chain-key.ts";
import { damageReports, damageSentence } from "../../../records/journal/salvage/damage-report.ts";
import type { RetentionLimits } from "../../../records/journal/retention.ts";
import { stat } from "../../../ground/platform/files/files.ts";
import { openJournalReader } from "../../../records/journal/journal-reader.ts";
import { clockProblem } from "../watch-clock.ts";
import { claimPartOf, stateParts } from "./state-claim.ts";
import { journalFile } from "./state-folder.ts";

/** The journal of one host's part of a state folder. */
export interface StateJournal {
  /** Number of the part: 1 for the first host, 2 for one that ran beside it… */
  part: number;
  file: string;
}

/** Returns all journals of a state folder. */
export async function stateJournals(stateDir: string): Promise<StateJournal[]> {
  const journals: StateJournal[] = [];
  for (const { number, folder } of await stateParts(stateDir)) {
    const file = journalFile(folder);
    // A key shows that there was a journal: one that is gone must not pass for one that never was.
    const paths = [file, chainKeyFile(file)];
    const found = await Promise.all(paths.map((path) => stat(path).then((one) => one.isFile(), () => false)));
    if (found.includes(true)) journals.push({ part: number, file });
  }
  return journals;
}

/** Describes the damage of every journal of a state folder that the operator has not taken note of. */
export async function damagedJournals(stateDir: string): Promise<string[]> {
  const sentences: string[] = [];
  for (const { folder } of await stateParts(stateDir)) {
    const file = journalFile(folder);
    for (const report of await damageReports(file)) sentences.push(damageSentence(report, file));
  }
  return sentences;
}

/** Tells that the clock is behind a session of a state folder; null where it is not. */
export async function stateClockProblem(stateDir: string): Promise<string | null> {
  let newest: string | undefined;
  for (const { file } of await stateJournals(stateDir)) {
    const reader = await openJournalReader(file).catch(() => null);
    const [session] = await reader?.sessions({ limit: 1 }).catch(() => []) ?? [];
    reader?.close();
    if (session !== undefined && session.sorted_at > (newest ?? "")) newest = session.sorted_at;
  }
  return clockProblem(newest);
}

/**
 * Compacts one journal, which no host may use during that time.
 * @throws {BulkheadError} `busy` while a host uses it, `journal_error`
 */
export async function compactStateJournal(
  stateDir: string,
  { part, file }: StateJournal,
  options: { limits: RetentionLimits; onProblem(message: string): void },
): Promise<CompactReport> {
  const claim = await claimPartOf(stateDir, part);
  if (claim === null) {
    throw new BulkheadError("busy", `Cannot compact the journal "${file}": a host uses it.`, {
      hint: "A host that runs removes by itself what is past its age; to give the space back, stop it first.",
    });
  }
  try {
    return await compactJournal(file, options);
  } finally {
    await claim.release();
  }
}
