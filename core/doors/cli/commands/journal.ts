import { type DefineCommand, examples, type Invocation, tell } from "../command.ts";
import { findJournals } from "../journal-arguments.ts";
import { readWhole } from "../request-flags.ts";
import { journalExport } from "./journal/journal-export.ts";
import { journalVerify } from "./journal/journal-verify.ts";
import { compactStateJournal } from "../../../sessions/host/state/state-journals.ts";
import { defaultRetention } from "../../../records/journal/retention.ts";
import { safeLine } from "../render/agent-text.ts";
import { formatBytes, plural } from "../render/quantities.ts";
import { whileWaiting } from "../while-waiting.ts";

/** `bulkhead journal verify|export|compact`. */
export const defineJournal: DefineCommand = (command, bind) => {
  command.usage("<verify|export|compact> [flags]").addHelpText(...examples(
    ["bulkhead journal verify", "is every event as it was written? prints the head to keep"],
    ["bulkhead journal export --out events.ndjson", "all events, one a line"],
    ["bulkhead journal compact", "remove what is past its age, and give back the space"],
  ));
  command.command("verify")
    .description("check every event against the chain, and kept files against events; print where the chain ends")
    .option("--head <head>", "a head that was printed before: it must still be in the chain")
    .option("--acknowledge", "stop telling of damaged journals that were set aside; their files stay")
    .addHelpText(...examples(
      ["bulkhead journal verify", "keep the head it prints somewhere else"],
      ["bulkhead journal verify --head 1:42:9f86…", "also finds a missing end, or a rewritten journal"],
    ))
    .action(bind(journalVerify));
  command.command("export")
    .description("print events as they stand in the journal, one JSON envelope a line")
    .option("--session <id>", "only this session's, by its id or its beginning")
    .option("--after <gseq>", "only those after this number; of a session, after this seq", readWhole)
    .option("--part <number>", "of the host that ran as this one beside others; default: 1, the first", readWhole)
    .option("--out <file>", "into a file, which must not be there yet")
    .addHelpText(...examples(
      ["bulkhead journal export --session 3f2a > session.ndjson", "one session"],
      ["bulkhead journal export --after 1200", "what came since"],
    ))
    .action(bind(journalExport));
  command.command("compact")
    .description("remove sessions past the journal's age and size now, and give their space back to the disk")
    .addHelpText(...examples(["bulkhead journal compact --json", "bytes before and after"]))
    .action(bind(journalCompact));
};

async function journalCompact(call: Invocation): Promise<number> {
  const { terminal } = call;
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
    await tell(call, { ...journal, ...report }, text);
  }
  return 0;
}
