import process from "node:process";
import { openJournal } from "../../../core/records/journal/open-journal.ts";

// Opens a damaged journal, which repairs it.
const journal = await openJournal(process.argv[2] ?? "", { onProblem: () => {} });
await journal.close();
