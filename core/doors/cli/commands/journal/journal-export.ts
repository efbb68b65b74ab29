import { BulkheadError } from "../../../../../plugin-sdk/errors.ts";
import type { Envelope } from "../../../../../plugin-sdk/envelope.ts";
import { type JournalReader, openJournalReader } from "../../../../records/journal/journal-reader.ts";
import type { SessionRecord } from "../../../../records/journal/session-record.ts";
import { resolve } from "../../../../ground/platform/files/paths.ts";
import { writeNewFile } from "../../../../ground/platform/files/write-new-file.ts";
import { type Invocation, tell } from "../../command.ts";
import { ambiguousId, beginningWith } from "../../find-session.ts";
import { findJournals } from "../../journal-arguments.ts";
import { progressLine, type StatusLine } from "../../while-waiting.ts";
import { formatBytes, plural } from "../../render/quantities.ts";

/** `bulkhead journal export`. */
export async function journalExport(call: Invocation): Promise<number> {
  const { terminal, options } = call;
  const { session, out } = options;
  const typed = typeof session === "string" ? session : undefined;
  const after = typeof options["after"] === "number" ? options["after"] : 0;
  const { reader, sessionId } = await findReader(call, typed);
  const progress = progressLine(terminal);
  const counted = { events: 0 };
  const lines = linesOf(reader, { sessionId, after, counted, progress });
  try {
    if (typeof out !== "string") {
      for await (const text of lines) await terminal.stdout.write(text);
      await progress.clear();
      return 0;
    }
    const file = resolve(terminal.cwd, out);
    const bytes = await writeNewFile(file, { pieces: lines, replace: false }).catch((error: unknown) => {
      throw writeError(file, error);
    });
    await progress.clear();
    const report = { file, events: counted.events, bytes };
    const text = `Wrote ${plural(report.events, "event")} to ${file}, ${formatBytes(bytes)}.`;
    return await tell(call, report, text);
  } finally {
    reader.close();
  }
}

/** Opens the requested journal, or the one that has the session, named by its id or its beginning. */
async function findReader(
  call: Invocation,
  typed: string | undefined,
): Promise<{ reader: JournalReader; sessionId: string | undefined }> {
  const { journals } = await findJournals(call);
  const wanted = call.options["part"] ?? (typed === undefined ? 1 : undefined);
  for (const { part, file } of journals) {
    if (wanted !== undefined && part !== wanted) continue;
    const reader = await openJournalReader(file);
    if (typed === undefined || await reader.session(typed) !== null) return { reader, sessionId: typed };
    const found = typed === "" ? [] : await beginningWith<SessionRecord>(typed, (page) => reader.sessions(page));
    const [only] = found;
    if (only !== undefined && found.length === 1) return { reader, sessionId: only.session_id };
    reader.close();
    if (found.length > 1) throw ambiguousId(typed, found.map(({ session_id }) => session_id));
  }
  const what = typed === undefined ? `journal ${wanted}` : `session "${typed}"`;
  throw new BulkheadError("not_found", `There is no ${what} in the state folder.`);
}

/** Yields NDJSON, one page per piece. */
async function* linesOf(
  reader: JournalReader,
  { sessionId, after, counted, progress }: {
    sessionId: string | undefined;
    after: number;
    counted: { events: number };
    progress: StatusLine;
  },
): AsyncGenerator<string, void, void> {
  const wanted = sessionId === undefined ? {} : { sessionId };
  const isWanted = ({ seq }: Envelope) => sessionId === undefined || seq > after;
  let cursor = sessionId === undefined ? after : 0;
  for (;;) {
    const page = await reader.read({ after: cursor, ...wanted });
    const last = page.at(-1);
    if (last === undefined) return;
    cursor = last.gseq;
    const envelopes = page.filter(isWanted);
    counted.events += envelopes.length;
    progress.show(`exporting, ${plural(counted.events, "event")} so far`);
    if (envelopes.length > 0) yield envelopes.map((envelope) => `${JSON.stringify(envelope)}\n`).join("");
  }
}

function writeError(file: string, cause: unknown): BulkheadError {
  if (cause instanceof BulkheadError) return cause;
  if (cause instanceof Error && "code" in cause && cause.code === "EEXIST") {
    return new BulkheadError("already_exists", `File "${file}" already exists.`, { hint: "Name another one." });
  }
  const message = cause instanceof Error ? cause.message : String(cause);
  return new BulkheadError("io_error", `Cannot write "${file}": ${message}.`, { cause });
}
