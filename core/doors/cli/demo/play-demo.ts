import type { SessionResult } from "../../../../plugin-sdk/result.ts";
import { hostVersion } from "../../../ground/config/version.ts";
import { platform, runtimeVersion } from "../../../ground/platform/engine/platform.ts";
import type { Terminal } from "../../../ground/platform/terminal/terminal.ts";
import { safeLine } from "../render/agent-text.ts";
import { LiveView } from "../render/live-view.ts";
import { adapterTones, createPaint, type Paint } from "../render/paint.ts";
import { formatDuration } from "../render/quantities.ts";
import { resultLines } from "../render/result-lines.ts";
import { padEnd, wrapText } from "../render/text-width.ts";
import { drawingColumns } from "../show-session.ts";
import type { DemoCheck } from "./demo-checks.ts";
import type { DemoPlace } from "./demo-repository.ts";
import { demoSessions } from "./demo-sessions.ts";
import { type DemoHost, type DemoOutcome, runDemo } from "./run-demo.ts";

interface PlayDemoOptions {
  terminal: Terminal;
  json: boolean;
  place: Pick<DemoPlace, "repository">;
  signal: AbortSignal;
  /** Its start, on the clock of `performance`. */
  started?: number;
  /** The terminal shows already which program runs. */
  hasBanner?: boolean;
}

/**
 * Runs the demo on a host, shows it and its results, and returns whether all checks hold.
 * @throws {BulkheadError} as `runDemo`
 */
export async function playDemo(host: DemoHost, options: PlayDemoOptions): Promise<boolean> {
  const { terminal, json, place, signal, started = performance.now(), hasBanner = false } = options;
  const screen = createScreen(terminal);
  if (!json) await screen.write(introduction(screen, { hasBanner }));
  const outcome = await runDemo(host, {
    workdir: place.repository,
    signal,
    show: (envelope) => json ? screen.write(`${JSON.stringify(envelope)}\n`) : screen.view.show(envelope),
  });
  await screen.view.finish();
  const duration_ms = Math.round(performance.now() - started);
  await screen.write(json ? summaryLine(outcome, duration_ms) : summary(outcome, { screen, duration_ms }));
  return outcome.checks.every(({ passed }) => passed);
}

interface Screen {
  write(text: string): Promise<void>;
  paint: Paint;
  columns: number;
  view: LiveView;
  /** Columns of the longest adapter's id. */
  names: number;
}

function createScreen(terminal: Terminal): Screen {
  const adapters = demoSessions.map(({ adapter }) => adapter);
  const paint = createPaint(terminal.colours.stdout);
  const columns = drawingColumns(terminal);
  const write = (text: string): Promise<void> => terminal.stdout.write(text);
  return {
    write,
    paint,
    columns,
    view: new LiveView({ write, paint, columns, adapters, endings: true }),
    names: longest(adapters),
  };
}

function introduction({ paint, columns }: Screen, { hasBanner }: { hasBanner: boolean }): string {
  const width = longest(demoSessions.map(({ adapter }) => adapter));
  const lines = demoSessions.flatMap(({ adapter, about }, index) =>
    wrapText(about, columns - width - 6, 5).map((line, at) =>
      `   ${paint(adapterTones[index] ?? "plain", padEnd(at === 0 ? adapter : "", width))}  ${line}`
    )
  );
  return [
    "",
    ...(hasBanner
      ? []
      : [` ${paint("bold", "Bulkhead")} ${paint("dim", `${hostVersion} · ${runtimeVersion} on ${platform}`)}`, ""]),
    " One host, one fresh git repository, three sessions at once:",
    "",
    ...lines,
    "",
    rule("live", { paint, columns }),
    "",
  ].join("\n");
}

function summary(outcome: DemoOutcome, { screen, duration_ms }: { screen: Screen; duration_ms: number }): string {
  const { paint, columns } = screen;
  const failed = outcome.checks.filter(({ passed }) => !passed).length;
  const verdict = failed === 0
    ? paint("green", `✔ All ${outcome.checks.length} checks passed`)
    : paint("red", `✘ ${failed} of ${outcome.checks.length} checks failed`);
  return [
    "",
    rule("results", { paint, columns }),
    ...outcome.results.flatMap((result, index) => resultBlock(result, { index, outcome, screen })),
    ...wrapText("A session's artifacts are all that changed while it ran; the three share one folder.", columns - 2, 5)
      .map((line) => ` ${paint("dim", line)}`),
    "",
    rule("checks", { paint, columns }),
    ...outcome.checks.flatMap((check) => checkLines(check, { paint, columns })),
    "",
    ` ${verdict} ${paint("dim", `in ${formatDuration(duration_ms)}.`)}`,
    "",
  ].join("\n");
}

function resultBlock(
  result: SessionResult,
  { index, outcome, screen }: { index: number; outcome: DemoOutcome; screen: Screen },
): string[] {
  const { paint, names } = screen;
  const events = outcome.events.get(result.session_id) ?? 0;
  const lines = resultLines(result, { paint, columns: screen.columns - names - 3, events });
  const name = paint(adapterTones[index] ?? "plain", padEnd(demoSessions[index]?.adapter ?? "", names));
  return [...lines.map((line, at) => ` ${at === 0 ? name : " ".repeat(names)}  ${line}`), ""];
}

function checkLines(
  { name, passed, found }: DemoCheck,
  { paint, columns }: { paint: Paint; columns: number },
): string[] {
  const mark = passed ? paint("green", "PASS") : paint("red", "FAIL");
  const [first = "", ...rest] = wrapText(name, columns - 8, 5);
  return [
    ` ${mark}  ${first}`,
    ...rest.map((line) => `       ${line}`),
    ...(passed ? [] : [`       ${paint("red", safeLine(found))}`]),
  ];
}

function summaryLine({ results, checks }: DemoOutcome, duration_ms: number): string {
  const passed = checks.every((check) => check.passed);
  const rows = results.map(({ session_id, provenance, outcome, stop_reason, artifacts }) => {
    return { session_id, adapter_id: provenance.adapter_id, outcome, stop_reason, artifacts };
  });
  return `${JSON.stringify({ demo: { passed, duration_ms, checks, results: rows } })}\n`;
}

function rule(title: string, { paint, columns }: { paint: Paint; columns: number }): string {
  const width = Math.min(columns, 100) - title.length - 6;
  return ` ${paint("dim", `── ${title} ${"─".repeat(Math.max(0, width))}`)}`;
}

function longest(words: readonly string[]): number {
  return Math.max(...words.map((word) => word.length));
}
