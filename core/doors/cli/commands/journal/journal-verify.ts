import { shortId, shortIds } from "../../../../ground/log/short-id.ts";
import { BulkheadError } from "../../../../../plugin-sdk/errors.ts";
import { errorTable } from "../../../../ground/errors/error-table.ts";
import { type ChainProblem, type ChainReport, verifyJournal } from "../../../../records/journal/verify-journal.ts";
import {
  acknowledgeDamage,
  type DamageReport,
  damageReports,
  damageSentence,
} from "../../../../records/journal/salvage/damage-report.ts";
import type { Invocation } from "../../command.ts";
import { findJournals, headText, readHead } from "../../journal-arguments.ts";
import { progressLine } from "../../while-waiting.ts";
import { safeLine } from "../../render/agent-text.ts";
import { type StoreReport, verifyStores } from "../../../../sessions/host/state/verify-stores.ts";
import type { StateJournal } from "../../../../sessions/host/state/state-journals.ts";
import { formatCount, plural } from "../../render/quantities.ts";

/** `bulkhead journal verify`. */
export async function journalVerify(call: Invocation): Promise<number> {
  const { terminal, json, options } = call;
  const head = typeof options["head"] === "string" ? readHead(options["head"]) : null;
  const { stateDir, journals } = await findJournals(call);
  if (head !== null && !journals.some(({ part }) => part === head.part)) {
    throw new BulkheadError("not_found", `The head belongs to journal ${head.part}, which is not in the state folder.`);
  }
  if (options["acknowledge"] === true) {
    for (const { file } of journals) await acknowledgeDamage(file);
  }
  let isRight = true;
  for (const { part, file } of journals) {
    const progress = progressLine(terminal);
    const report = await verifyJournal(file, {
      head: head?.part === part ? { number: head.number, mac: head.mac } : undefined,
      onProgress: (done, all) => progress.show(`verifying ${formatCount(done)} of ${plural(all, "link")}`),
    }).finally(() => progress.clear());
    const damaged = await damageReports(file);
    isRight &&= report.ok && damaged.length === 0;
    const text = json
      ? JSON.stringify({ part, file, ...report, head: headText(part, report.head), damaged })
      : [...reportLines(report, { part, file }), ...damagedLines(damaged, file)].join("\n");
    await terminal.stdout.write(`${text}\n`);
  }
  const areKept = await verifyFiles(call, { stateDir, journals });
  return isRight && areKept ? 0 : errorTable.journal_error.exit_code;
}

/** Files of turns, against what the journals say. @returns whether they are right */
async function verifyFiles(
  { terminal, json }: Invocation,
  { stateDir, journals }: { stateDir: string; journals: readonly StateJournal[] },
): Promise<boolean> {
  const found = { conversations: 0, turns: 0, ok: true, stores: [] as StoreReport[], more_stores: 0 };
  const progress = progressLine(terminal);
  for await (const report of verifyStores(stateDir, journals)) {
    found.conversations++;
    found.turns += report.turns;
    progress.show(`verifying the files of ${plural(found.turns, "turn")}`);
    if (report.faults.length === 0 && report.is_known) continue;
    found.ok &&= report.faults.length === 0;
    if (!json) {
      await progress.clear();
      await terminal.stdout.write(`${storeLines(report).join("\n")}\n`);
    } else if (found.stores.length < mostStores) found.stores.push(report);
    else found.more_stores++;
  }
  await progress.clear();
  if (found.conversations === 0) return true;
  const { turns, conversations, ok } = found;
  const of = `${plural(turns, "turn")} of ${plural(conversations, "conversation")}`;
  const text = json
    ? JSON.stringify({ checkpoints: found })
    : ` ${of} ${turns === 1 ? "is" : "are"} kept as the journal says${ok ? "." : "; others are not:"}`;
  await terminal.stdout.write(`${text}\n`);
  return ok;
}

/** Stores that one answer names. */
const mostStores = 100;

function storeLines({ conversation_id: id, folder, is_known, faults }: StoreReport): string[] {
  const place = `"${safeLine(folder)}"`;
  if (!is_known) {
    return [`No journal names conversation ${id}, of which turns are kept. To give the space back: remove ${place}.`];
  }
  return [
    ...faults.map(({ turn, fault }) =>
      `${fault.toUpperCase()}: the files after turn ${turn} of conversation ${id} ` +
      `${faultTexts[fault]}.`
    ),
    `Take none of these turns back. To begin again: remove the folder ${place} while no turn runs.`,
  ].map((line) => ` ${line}`);
}

const faultTexts: Readonly<Record<StoreReport["faults"][number]["fault"], string>> = {
  missing: "are not kept",
  differs: "are not those that the journal names",
  damaged: "cannot be read",
};

function reportLines(report: ChainReport, { part, file }: { part: number; file: string }): string[] {
  const { ok, batches, events, erased, lost, base, kept_head, problems, more_problems } = report;
  const gone = base + erased;
  return [
    safeLine(file),
    ` ${plural(events, "event")} in ${formatCount(batches)} ${batches === 1 ? "batch" : "batches"} ` +
    `${events === 1 ? "is" : "are"} as written${ok ? "." : "; others are not:"}`,
    ...(lost === 0
      ? []
      : [` ${plural(lost, "link")} of a damaged file ${lost === 1 ? "is" : "are"} lost, as its host noted.`]),
    ...(gone === 0 ? [] : [` ${plural(gone, "link")} of deleted sessions.`]),
    ...problems.map((problem) => ` ${sentence(problem)}`),
    ...(more_problems > 0 ? [` and ${plural(more_problems, "more problem")}`] : []),
    ...(kept_head === null ? [] : [` ${keptHead[kept_head]}`]),
    ` head ${headText(part, report.head)}`,
  ];
}

function damagedLines(damaged: readonly DamageReport[], file: string): string[] {
  if (damaged.length === 0) return [];
  const sentences = damaged.map((report) => ` DAMAGED: ${safeLine(shortIds(damageSentence(report, file)))}`);
  return [...sentences, " When you have seen this: bulkhead journal verify --acknowledge"];
}

const keptHead: Readonly<Record<NonNullable<ChainReport["kept_head"]>, string>> = {
  found: "The head that was kept is in the chain.",
  folded: "The head that was kept is older than all that retention has left; keep the new one.",
  missing: "The head that was kept is not in the chain.",
};

function sentence({ problem, link, links, session_id, from_gseq, to_gseq, name = "" }: ChainProblem): string {
  const events = from_gseq === null || from_gseq === to_gseq ? `event ${to_gseq}` : `events ${from_gseq} to ${to_gseq}`;
  const of = session_id === null ? "" : ` of session ${shortId(session_id)}`;
  const numbers = links === 1 ? `link ${link}` : `links ${link} to ${link + links - 1}`;
  switch (problem) {
    case "changed":
      return `CHANGED: ${events}${of} (${numbers}) is not what was written.`;
    case "missing":
      return `MISSING: ${numbers}, between ${events.replace(" to ", " and ")}.`;
    case "unordered":
      return `UNORDERED: ${events}${of} (${numbers}) stands where another should.`;
    case "unchained":
      return `UNCHAINED: ${events}${of} has no link: it was put in.`;
    case "erased":
      return `ERASED: ${events}${of} (${numbers}) is gone, and that session was never deleted.`;
    case "truncated":
      return `TRUNCATED: the chain ends at event ${from_gseq}, and should go on (${numbers}).`;
    case "rewritten":
      return `REWRITTEN: ${numbers} is not the one that was kept: this journal was rewritten.`;
    case "misstated":
      return to_gseq === null
        ? `MISSTATED: the lists name something${of}, of which there are no events.`
        : `MISSTATED: what is listed${of} is not what its ${events} say.`;
    case "foreign":
      return `FOREIGN: "${safeLine(name)}" is in the file, and no host put it there.`;
  }
}
