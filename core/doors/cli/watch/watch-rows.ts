import { formatCost } from "../../../../plugin-sdk/currency.ts";
import { safeLine } from "../render/agent-text.ts";
import { outcomeLooks, type Paint, type Tone } from "../render/paint.ts";
import { clockTime, formatAge } from "../render/quantities.ts";
import { shortId } from "../../../ground/log/short-id.ts";
import { type Cell, tableLines } from "../render/table.ts";
import { fitLine, padEnd } from "../render/text-width.ts";
import type { WatchedSession } from "./watched-sessions.ts";

/** Output of `bulkhead session watch --json`: a line for each change. */
interface WatchRow {
  session_id: string;
  state: "waiting" | "running" | "ended";
  adapter_id: string | null;
  title: string;
  /** The question that waits; null where none does. */
  asks: string | null;
  /** The tool that works now, or the phase; null once it has ended. */
  doing: string | null;
  plan: { step: number; of: number; text: string } | null;
  cost: number | null;
  currency: string | null;
  tokens: number | null;
  outcome: string | null;
  stop_reason: string | null;
  changed_at: string | null;
}

/** A session as data. */
export function watchRow({ id, title, facts }: WatchedSession): WatchRow {
  const { step, outcome, asks } = facts;
  return {
    session_id: id,
    state: outcome !== null ? "ended" : asks !== null ? "waiting" : "running",
    adapter_id: facts.adapter,
    title,
    asks,
    doing: outcome === null ? facts.doing : null,
    plan: step && { step: step.number, of: step.of, text: step.text },
    cost: facts.used.cost,
    currency: facts.currency,
    tokens: facts.used.tokens,
    outcome,
    stop_reason: facts.stopReason,
    changed_at: facts.changedAt,
  };
}

/** A change of a session as one line of text. */
export function changeLine(one: WatchedSession, { paint, columns }: { paint: Paint; columns: number }): string {
  const { facts, id } = one;
  const [text, tone] = nowOf(one);
  const line = `${clockTime(facts.changedAt ?? one.startedAt)}  ${shortId(id)}  ${
    fitLine(safeLine(facts.adapter ?? ""), columns === 0 ? Infinity : agentColumns)
  }`;
  return `${line}  ${paint(tone, columns === 0 ? text : fitLine(text, Math.max(8, columns - line.length - 2)))}`;
}

/** All that a line of a pipe is about: a change of anything else writes none. */
export function changeKey({ facts }: WatchedSession): string {
  const { step, asks, outcome } = facts;
  return JSON.stringify([asks, outcome, step === null ? facts.doing : [step.number, step.text]]);
}

interface ScreenOptions {
  paint: Paint;
  columns: number;
  rows: number;
  /** Index of the row that keys act on. */
  selected: number;
  now: number;
  /** Shown instead of the keys. */
  asked: string | null;
}

/** Silence that may mean that an agent is stuck. Milliseconds. */
const longSilenceMs = 120_000;

/** Draws all sessions on one screen. */
export function watchScreen(sessions: readonly WatchedSession[], options: ScreenOptions): string[] {
  const { paint, columns, rows, selected, asked } = options;
  const most = Math.max(1, rows - 7);
  const from = Math.max(0, Math.min(selected - most + 1, sessions.length - most));
  const shown = sessions.slice(from, from + most);
  const left = sessions.length - shown.length;
  const isWide = columns >= wideColumns;
  const isNarrow = columns < narrowColumns;
  const facts = isNarrow ? [] : ["plan", "cost"];
  const head = [
    "",
    ...(isNarrow ? [] : ["session"]),
    "state",
    "agent",
    "silent",
    ...facts,
    ...(isWide ? ["title"] : []),
    "now",
  ];
  const table = shown.map((one, index) =>
    cells(one, { ...options, isSelected: from + index === selected, isWide, isNarrow })
  );
  const title = sessions[selected]?.title;
  return [
    ` ${paint("bold", sumsText(sessions))}`,
    "",
    ...(shown.length === 0 ? ["   No session runs."] : tableLines(table, { paint, columns: columns - 1, head })),
    ...(left > 0 ? [paint("dim", `   and ${left} more`)] : []),
    ...(title === undefined ? [""] : ["", ` ${paint("dim", fitLine(safeLine(title), columns - 2))}`]),
    ` ${asked === null ? paint("dim", fitLine(keysText, columns - 2)) : paint("yellow", fitLine(asked, columns - 2))}`,
  ];
}

/** Columns from which the titles have one of their own. */
const wideColumns = 110;
/** Columns below which a row is what the session does now, and no figures. */
const narrowColumns = 70;
const titleColumns = 32;
const agentColumns = 14;

const keysText = "[enter] shows its events  [i]nterrupts it  [j] [k] or arrows move  [q]uits";

function cells(
  one: WatchedSession,
  { isSelected, isWide, isNarrow, now }: ScreenOptions & { isSelected: boolean; isWide: boolean; isNarrow: boolean },
): Cell[] {
  const { facts, id, title } = one;
  const [state, tone] = stateOf(one);
  const { cost } = facts.used;
  const since = facts.changedAt ?? one.startedAt;
  const isLong = facts.outcome === null && facts.asks === null && now - Date.parse(since) > longSilenceMs;
  const step = facts.rests ? null : one.pulse.step;
  const [text, textTone] = nowOf(one, step?.text);
  return [
    { text: isSelected ? "▸" : " ", tone: "cyan" },
    ...(isNarrow ? [] : [{ text: shortId(id), tone: "bold" as const }]),
    { text: state, tone },
    fitLine(safeLine(facts.adapter ?? "none yet"), agentColumns),
    { text: facts.outcome === null ? formatAge(since, now) : "", tone: isLong ? "yellow" : "plain" },
    ...(isNarrow ? [] : [planText(one, isWide), cost === null ? "" : formatCost(cost, facts.currency)]),
    ...(isWide ? [padEnd(fitLine(safeLine(title), titleColumns), titleColumns)] : []),
    { text, tone: textTone },
  ];
}

function stateOf({ facts: { outcome, asks } }: WatchedSession): [text: string, tone: Tone] {
  if (outcome !== null) return [`${outcomeLooks[outcome][0]} ${outcome}`, outcomeLooks[outcome][1]];
  return asks === null ? ["● runs", "cyan"] : ["▲ waits", "yellow"];
}

/** @param shownStep stands for what is known here of a session that runs */
function nowOf({ facts }: WatchedSession, shownStep?: string): [text: string, tone: Tone] {
  const { outcome, stopReason, asks, step, doing, isCalling } = facts;
  if (outcome !== null) return [safeLine(`${outcome} · ${stopReason}`), outcomeLooks[outcome][1]];
  if (asks !== null) return [safeLine(`asks: ${asks}`), "yellow"];
  const told = step === null || isCalling ? doing : `${step.number}/${step.of} ${step.text}`;
  return [safeLine(shownStep ?? told), "plain"];
}

const barCells = 5;

/** How far the plan is: `▓▓░░░ 2/5`. */
function planText({ facts: { plan } }: WatchedSession, isWide: boolean): string {
  if (plan.length === 0) return "";
  const done = plan.filter(({ status }) => status === "completed").length;
  const full = Math.round(done / plan.length * barCells);
  const bar = isWide ? `${"▓".repeat(full)}${"░".repeat(barCells - full)} ` : "";
  return `${bar}${done}/${plan.length}`;
}

function sumsText(sessions: readonly WatchedSession[]): string {
  const running = sessions.filter(({ facts }) => facts.outcome === null);
  const waiting = running.filter(({ facts }) => facts.asks !== null).length;
  const dollars = sessions.filter(({ facts }) => facts.currency === null || facts.currency === "USD");
  const cost = dollars.reduce((sum, { facts }) => sum + (facts.used.cost ?? 0), 0);
  const words = [
    ...(waiting === 0 ? [] : [`${waiting} ${waiting === 1 ? "waits" : "wait"} for you`]),
    `${running.length - waiting} ${running.length - waiting === 1 ? "runs" : "run"}`,
    ...(sessions.length === running.length ? [] : [`${sessions.length - running.length} ended`]),
    ...(cost === 0 ? [] : [formatCost(cost, "USD")]),
  ];
  return words.join(" · ");
}
