import { type DefineCommand, examples } from "../command.ts";
import { readCount } from "../journal-arguments.ts";
import { journalCompact } from "./journal-compact.ts";
import { journalExport } from "./journal-export.ts";
import { journalVerify } from "./journal-verify.ts";

/** `bulkhead journal verify|export|compact`. */
export const defineJournal: DefineCommand = (command, bind) => {
  command.usage("<verify|export|compact> [flags]").addHelpText(
    "after",
    examples(
      ["bulkhead journal verify", "is every event as it was written? prints the head to keep"],
      ["bulkhead journal export --out events.ndjson", "all events, one a line"],
      ["bulkhead journal compact", "remove what is past its age, and give back the space"],
    ),
  );
  command.command("verify")
    .description("check every event against the chain, and print where the chain ends")
    .option("--head <head>", "a head that was printed before: it must still be in the chain")
    .option("--acknowledge", "stop telling of damaged journals that were set aside; their files stay")
    .addHelpText(
      "after",
      examples(
        ["bulkhead journal verify", "keep the head it prints somewhere else"],
        ["bulkhead journal verify --head 1:42:9f86…", "also finds a missing end, or a rewritten journal"],
      ),
    )
    .action(bind(journalVerify));
  command.command("export")
    .description("print events as they stand in the journal, one JSON envelope a line")
    .option("--session <id>", "only this session's")
    .option("--after <gseq>", "only those after this number; of a session, after this seq", readCount)
    .option("--part <number>", "of the host that ran as this one beside others; default: 1, the first", readCount)
    .option("--out <file>", "into a file, which must not be there yet")
    .addHelpText(
      "after",
      examples(
        ["bulkhead journal export --session 3f2a77… > session.ndjson", "one session"],
        ["bulkhead journal export --after 1200", "what came since"],
      ),
    )
    .action(bind(journalExport));
  command.command("compact")
    .description("remove sessions past the journal's age and size now, and give their space back to the disk")
    .addHelpText("after", examples(["bulkhead journal compact --json", "bytes before and after"]))
    .action(bind(journalCompact));
};
