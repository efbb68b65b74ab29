import type { ComparedSession, Comparison } from "../../sessions/host/compare-results.ts";
import type { Host, ParallelRun } from "../../sessions/host/host.ts";
import type { PassedOver } from "../../sessions/routing/choose-route.ts";
import { AgentQuestions } from "./agent-questions.ts";
import { exitCodeOf } from "./exit-code.ts";
import { safeLine } from "./render/agent-text.ts";
import { LiveView } from "./render/live-view.ts";
import { createPaint, outcomeLooks, type Paint } from "./render/paint.ts";
import { formatCost } from "../../../plugin-sdk/currency.ts";
import { formatCount, formatDuration, lineCounts, plural } from "./render/quantities.ts";
import { shortId } from "../../ground/log/short-id.ts";
import { type Cell, tableLines } from "./render/table.ts";
import type { SessionCommand } from "./session-command.ts";
import { drawingColumns, tableColumns } from "./show-session.ts";
import { asTyped } from "./render/as-typed.ts";

/**
 * Runs a request on several adapters at once and shows their events as one stream, then a comparison. A person at the
 * terminal is asked what each agent asks, with its name; where no one is, no session waits for an answer.
 * @returns 0 when at least one completed, else the exit code of the first
 */
export async function showAll(
  { adapter, passed_over, request, how: { signal }, show }: SessionCommand,
  host: Pick<Host, "runAll">,
): Promise<number> {
  const { terminal, mode, questions = terminal.stdout } = show;
  const adapters = [adapter].flat();
  const run = await host.runAll(request, { adapters, signal });
  const leftOut = [
    ...passed_over.map(({ adapter_id, ...one }) => ({ adapter_id, reason: whyNot(one) })),
    ...run.passed_over,
  ];
  await showEvents(run, { show, adapters });
  const comparison = await run.comparison;
  const drawing = { paint: createPaint(terminal.colours.stdout), columns: tableColumns(terminal) };
  await questions.write(
    mode === "json"
      ? `${JSON.stringify({ comparison, passed_over: leftOut })}\n`
      : comparisonText({ passed_over: leftOut }, comparison, drawing),
  );
  const results = await Promise.all(run.sessions.map((session) => session.result()));
  return results.some(({ outcome }) => outcome === "completed") ? 0 : exitCodeOf(results[0]!);
}

function whyNot({ reason, next_step }: Omit<PassedOver, "adapter_id">): string {
  return [reason, next_step].filter((text) => text !== undefined).join(" ");
}

/** Shows the events of all sessions, and asks the person at the terminal what the agents ask. */
async function showEvents(
  run: ParallelRun,
  { show: { terminal, mode, verbose, times = false, questions }, adapters }: {
    show: SessionCommand["show"];
    adapters: readonly string[];
  },
): Promise<void> {
  const view = new LiveView({
    write: (text) => (questions ?? terminal.stdout).write(text),
    paint: createPaint(terminal.colours.stdout),
    columns: drawingColumns(terminal),
    adapters,
    verbose,
    times,
    endings: true,
    ids: true,
  });
  const asked = new Map(
    questions === undefined
      ? []
      : run.sessions.map((session) => [session.id, new AgentQuestions(session, { questions, terminal, named: true })]),
  );
  for await (const envelope of run) {
    const own = asked.get(envelope.session_id);
    own?.see(envelope);
    // The question of another agent may be open: its answer is not waited for.
    if (envelope.event.type === "session_ended") void own?.close();
    if (mode === "json") await terminal.stdout.write(`${JSON.stringify(envelope)}\n`);
    else if (mode === "live") await view.show(envelope);
  }
  await Promise.all([...asked.values()].map((one) => one.close()));
  await view.finish();
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
  const unanswered = sessions.filter(({ stop_reason }) => stop_reason === "permission_deadline");
  const lines = [
    ...table,
    ...unanswered.map(({ adapter_id }) =>
      paint(
        "yellow",
        ` ${safeLine(adapter_id)} asked, and no one answered: run it at a terminal, or with --approval edits`,
      )
    ),
    ...passed_over.map(({ adapter_id, reason }) =>
      paint("yellow", ` ${safeLine(adapter_id)} was left out: ${safeLine(reason)}`)
    ),
    ...(shared.length === 0 ? [] : ["", paint("bold", " changed by more than one"), ...shared]),
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
    : ` ${lineCounts({ added: one.lines_added, removed: one.lines_removed ?? 0 })}`;
  return [
    { text: one.adapter_id, tone: "bold" },
    { text: `${mark} ${one.stop_reason}`, tone },
    formatDuration(one.duration_ms),
    formatCost(one.cost, one.currency),
    one.tokens === null ? "unknown" : formatCount(one.tokens),
    `${changes}${lines}`,
    { text: shortId(one.session_id), tone: "dim" },
  ];
}
