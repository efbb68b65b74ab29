import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { SessionResult } from "../../../plugin-sdk/result.ts";
import type { SessionHandle } from "../../sessions/host/session-host.ts";
import type { Terminal } from "../../ground/platform/terminal/terminal.ts";
import { AgentQuestions } from "./agent-questions.ts";
import type { Questions } from "./questions.ts";
import type { Interrupts } from "./interrupts.ts";
import { safeLine, safeText } from "./render/agent-text.ts";
import { asTyped } from "./render/as-typed.ts";
import { LiveView } from "./render/live-view.ts";
import { planLines } from "./render/event-lines.ts";
import { createPaint, type Paint } from "./render/paint.ts";
import { type Row, tableLines } from "./render/table.ts";
import { SessionProgress } from "./render/session-progress.ts";
import { resultLines } from "./render/result-lines.ts";
import { fitLine } from "./render/text-width.ts";
import { tellError } from "./render/error-text.ts";
import { statusText } from "./screen/session-status.ts";
import type { StatusScreen } from "./screen/status-screen.ts";

/** Options of {@link showSession}. */
export interface ShowSessionOptions {
  terminal: Terminal;
  adapter: string;
  /** Keeps a line about the session at the bottom of this terminal; absent where none can stand. */
  status?: { screen: StatusScreen; interrupts?: Interrupts } | undefined;
  /** Answers the agent's questions; absent where no person can. */
  questions?: Questions | undefined;
  /** `live` for people, `json` one envelope a line, `quiet` only the final output. */
  mode: "live" | "json" | "quiet";
  verbose: boolean;
  /** Show when each event came. */
  times?: boolean | undefined;
  /** Collects the command lines that would grant what was denied, for a caller that can grant it and retry. */
  missing?: Set<string> | undefined;
}

/** A session to show from its first event on. */
type ShownSession = Pick<SessionHandle, "id" | "events" | "result" | "answer">;

/** Shows a session's events as they come, then its result. */
export async function showSession(session: ShownSession, options: ShowSessionOptions): Promise<SessionResult> {
  const { terminal, mode, questions } = options;
  const { events, missing } = await showEvents(session, options);
  const result = await session.result();
  if (mode === "live") await showResult(result, { ...options, events });
  if (mode === "quiet") await showOutput(result, terminal);
  // A question of another session may still be open: what this one did is shown above it.
  await questions?.flush();
  const isAsked = questions !== undefined && (options.missing?.size ?? 0) > 0;
  if (mode !== "json" && !isAsked) await showMissing(missing, { result, terminal });
  return result;
}

/** Shows a session's events as they come; returns their number, and the command lines that grant what was denied. */
export async function showEvents(
  session: Omit<ShownSession, "result">,
  options: ShowSessionOptions,
): Promise<{ events: number; missing: Set<string> }> {
  const { terminal, mode, questions } = options;
  const facts = new SessionProgress();
  const hideStatus = showStatus(facts, options);
  const view = createView(options);
  const asked = questions === undefined ? null : new AgentQuestions(session, { questions, terminal });
  const missing = new Set<string>();
  let events = 0;
  try {
    for await (const envelope of session.events()) {
      events += 1;
      facts.see(envelope);
      noteMissingGrant(envelope, { missing, askable: options.missing });
      asked?.see(envelope);
      if (mode === "json") await terminal.stdout.write(`${JSON.stringify(envelope)}\n`);
      else if (mode === "live") await view.show(envelope);
    }
  } finally {
    await asked?.close();
    await view.finish();
    hideStatus();
  }
  return { events, missing };
}

/** Whether the flags of a command ask for the time of each event. */
export function showTimes(options: Readonly<Record<string, unknown>>): boolean {
  return options["verbose"] === true || options["times"] === true;
}

/** Columns for a table: the terminal's; unlimited for a pipe. */
export function tableColumns(terminal: Terminal): number {
  return terminal.stdout.columns > 0 ? Math.max(40, terminal.stdout.columns) : 1000;
}

/** Formats a table for standard output, below its titles. */
export function tableText(
  rows: readonly Row[],
  { terminal, ...options }: { terminal: Terminal; head: readonly string[]; wraps?: boolean },
): string {
  const drawn = { paint: createPaint(terminal.colours.stdout), columns: tableColumns(terminal), indent: 1 };
  return tableLines(rows, { ...drawn, ...options }).join("\n");
}

/** Columns to draw in: the terminal's, within 40 to 160. */
export function drawingColumns(terminal: Terminal): number {
  return Math.min(160, Math.max(40, terminal.stdout.columns || 100));
}

/** Keeps a line about the session at the bottom. Returns how to remove it. */
function showStatus(facts: SessionProgress, { status, terminal }: ShowSessionOptions): () => void {
  if (status === undefined) return () => {};
  const paint = createPaint(terminal.colours.stdout);
  const began = performance.now();
  const { screen, interrupts } = status;
  return screen.show({
    draw: (columns) =>
      statusText(facts, {
        columns,
        paint,
        elapsedMs: performance.now() - began,
        interrupts: interrupts === undefined ? "none" : interrupts.signal.aborted ? "under way" : "possible",
      }),
    onKey: interrupts && ((key) => {
      if (key === "i") interrupts.interrupt();
      if (key === "p") void terminal.stdout.write(planText(facts, { terminal, paint }));
    }),
  });
}

/** The plan as a whole, below what was shown until now. */
function planText({ plan }: SessionProgress, { terminal, paint }: { terminal: Terminal; paint: Paint }): string {
  const columns = drawingColumns(terminal) - 6;
  const lines = planLines(plan).map(({ tone, text }) => paint(tone, fitLine(safeLine(text), columns)));
  return lines.length === 0 ? "" : `\n   ${lines.join("\n   ")}\n\n`;
}

function createView({ terminal, adapter, questions, verbose, times = false }: ShowSessionOptions): LiveView {
  return new LiveView({
    write: (text) => questions?.write(text) ?? terminal.stdout.write(text),
    paint: createPaint(terminal.colours.stdout),
    columns: drawingColumns(terminal),
    adapters: [adapter],
    lone: true,
    streaming: terminal.stdout.isTty,
    verbose,
    times,
  });
}

async function showResult(result: SessionResult, options: ShowSessionOptions & { events: number }): Promise<void> {
  const { terminal, events, verbose, questions = terminal.stdout } = options;
  const paint = createPaint(terminal.colours.stdout);
  const lines = resultLines(result, {
    paint,
    columns: drawingColumns(terminal),
    events,
    named: true,
    verbose,
    indent: 1,
  });
  await questions.write(`\n${lines.join("\n")}\n`);
}

async function showOutput(result: SessionResult, terminal: Terminal): Promise<void> {
  const text = terminal.stdout.isTty ? safeText(answerOf(result)) : answerOf(result);
  if (text !== "") await terminal.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
  if (result.error !== undefined) await tellError(result.error, terminal);
}

/** The answer as text: an agent may give data alone. */
export function answerOf({ output, structured_output: data }: SessionResult): string {
  return output !== "" || data === undefined ? output : JSON.stringify(data, null, 2);
}

function noteMissingGrant(
  { event }: Envelope,
  { missing, askable }: { missing: Set<string>; askable: Set<string> | undefined },
): void {
  if (event.type !== "capability" || event.decision !== "denied" || event.grant_command === undefined) return;
  if (event.grantable === false || event.needed === false) return;
  missing.add(event.grant_command);
  askable?.add(event.grant_command);
}

async function showMissing(
  missing: ReadonlySet<string>,
  { result, terminal }: { result: SessionResult; terminal: Terminal },
): Promise<void> {
  const unsaid = [...missing].filter((command) => result.error?.hint?.includes(command) !== true);
  if (unsaid.length === 0 || result.outcome === "completed") return;
  const commands = unsaid.map((command) => `  ${safeText(asTyped(command))}\n`).join("");
  await terminal.stderr.write(`\nSome permissions are not granted. To grant what was denied:\n${commands}`);
}
