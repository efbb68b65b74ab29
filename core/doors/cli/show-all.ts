import type { ComparedSession, Comparison } from "../../sessions/host/compare-results.ts";
import type { Host, ParallelRun } from "../../sessions/host/host.ts";
import { exitCodeOf } from "./exit-code.ts";
import { safeLine } from "./render/agent-text.ts";
import { LiveView } from "./render/live-view.ts";
import { createPaint, outcomeLooks, type Paint } from "./render/paint.ts";
import { formatCost } from "../../../plugin-sdk/currency.ts";
import { formatCount, formatDuration, plural } from "./render/quantities.ts";
import { type Cell, tableLines } from "./render/table.ts";
import type { SessionCommand } from "./session-command.ts";
import { drawingColumns, tableColumns } from "./show-session.ts";
import { asTyped } from "./render/as-typed.ts";

/**
 * Runs a request on several adapters at once and shows their events as one stream, then a comparison. Asks the person
 * nothing: with several agents it would not be clear which one asks.
 * @returns 0 when at least one completed, else the exit code of the first
 */
export async function showAll(
  { adapter, request, how: { signal }, show }: SessionCommand,
  host: Pick<Host, "runAll">,
): Promise<number> {
  const { terminal, mode, verbose, times = false } = show;
  const run = await host.runAll({ ...request, answer_timeout_ms: request.answer_timeout_ms ?? 0 }, {
    adapters: [adapter].flat(),
    signal,
  });
  const view = new LiveView({
    write: (text) => terminal.stdout.write(text),
    paint: createPaint(terminal.colours.stdout),
    columns: drawingColumns(terminal),
    adapters: [adapter].flat(),
    verbose,
    times,
    endings: true,
    ids: true,
  });
  for await (const envelope of run) {
    if (mode === "json") await terminal.stdout.write(`${JSON.stringify(envelope)}\n`);
    else if (mode === "live") await view.show(envelope);
  }
  await view.finish();
  const comparison = await run.comparison;
  if (mode === "json") await terminal.stdout.write(`${JSON.stringify({ comparison, passed_over: run.passed_over })}\n`);
  else {await terminal.stdout.write(
      comparisonText(run, comparison, { paint: createPaint(terminal.colours.stdout), columns: tableColumns(terminal) }),
    );}
  const results = await Promise.all(run.sessions.map((session) => session.result()));
  return results.some(({ outcome }) => outcome === "completed") ? 0 : exitCodeOf(results[0]!);
}

/** Formats a comparison as text for people. */
export function comparisonText(
  { passed_over }: Pick<ParallelRun, "passed_over">,
  { sessions, overlapping_files }: Comparison,
  { paint, columns }: { paint: Paint; columns: number },
): string {
  const head = ["adapter", "outcome", "time", "cost", "tokens", "changes", "session"];
  const table = tableLines(sessions.map(row), { paint, columns, indent: 1, head });
  const shared = overlapping_files.map(({ path, session_ids, same }) =>
    `   ${safeLine(path)}  ${
      paint("dim", same ? `the same in all ${session_ids.length}` : `${session_ids.length} different versions`)
    }`
  );
  const lines = [
    ...table,
    ...(shared.length === 0 ? [] : ["", paint("bold", " changed by more than one"), ...shared]),
    ...passed_over.map(({ adapter_id, reason }) => paint("dim", ` not ${safeLine(`${adapter_id}: ${reason}`)}`)),
    "",
    paint("cyan", asTyped(" bulkhead session diff|apply|discard <session>")),
  ];
  return `\n${lines.join("\n")}\n`;
}

function row(one: ComparedSession): Cell[] {
  const [mark, tone] = outcomeLooks[one.outcome];
  const changes = one.files_changed === null ? "unknown" : plural(one.files_changed, "file");
  const lines = one.lines_added === null
    ? ""
    : ` +${formatCount(one.lines_added)} -${formatCount(one.lines_removed ?? 0)}`;
  return [
    { text: one.adapter_id, tone: "bold" },
    { text: `${mark} ${one.stop_reason}`, tone },
    formatDuration(one.duration_ms),
    one.cost === null ? "unknown" : formatCost(one.cost, one.currency),
    one.tokens === null ? "unknown" : formatCount(one.tokens),
    `${changes}${lines}`,
    { text: one.session_id, tone: "dim" },
  ];
}
