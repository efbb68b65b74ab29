import { compactStateJournal } from "../../../sessions/host/state-journals.ts";
import { defaultRetention } from "../../../records/journal/retention.ts";
import type { Invocation } from "../command.ts";
import { findJournals } from "../journal-arguments.ts";
import { safeLine } from "../render/agent-text.ts";
import { formatBytes, plural } from "../render/quantities.ts";
import { whileWaiting } from "../while-waiting.ts";

/** `bulkhead journal compact`. */
export async function journalCompact(call: Invocation): Promise<number> {
  const { terminal, json } = call;
  const { stateDir, journals, manifest } = await findJournals(call);
  const limits = { ...defaultRetention, ...manifest?.journal };
  for (const journal of journals) {
    const told: string[] = [];
    const work = compactStateJournal(stateDir, journal, { limits, onProblem: (message) => told.push(message) });
    const report = await whileWaiting(`compacting ${safeLine(journal.file)}`, { terminal, work });
    for (const message of told) await terminal.stderr.write(`${safeLine(message)}\n`);
    const { removed_sessions, bytes_before, bytes_after } = report;
    const text = `${safeLine(journal.file)}\n removed ${plural(removed_sessions, "session")}; ` +
      `${formatBytes(bytes_before)} before, ${formatBytes(bytes_after)} now`;
    await terminal.stdout.write(`${json ? JSON.stringify({ ...journal, ...report }) : text}\n`);
  }
  return 0;
}
