import { formatCost } from "../../../../plugin-sdk/currency.ts";
import { safeLine } from "../render/agent-text.ts";
import type { Paint } from "../render/paint.ts";
import { formatTimer, shortCount } from "../render/quantities.ts";
import type { SessionProgress } from "../render/session-progress.ts";
import { fitLine, textWidth } from "../render/text-width.ts";

const frames = [..."⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"];

/** How long one picture of the spinner stands. Milliseconds. */
const frameMs = 120;

/** Options of {@link statusText}. */
interface StatusTextOptions {
  columns: number;
  paint: Paint;
  /** Since the session began. Milliseconds. */
  elapsedMs: number;
  interrupts: "none" | "possible" | "under way";
}

/** Formats how a session goes as one line: `⠙ 1:42  3/5 Fix the rounding  $0.12  23 k   [i]nterrupt [p]lan`. */
export function statusText(
  facts: SessionProgress,
  { columns, paint, elapsedMs, interrupts }: StatusTextOptions,
): string {
  const { cost, tokens } = facts.used;
  const head = ` ${frames[Math.floor(elapsedMs / frameMs) % frames.length]} ${formatTimer(elapsedMs)}`;
  const tail = [
    ...(cost === null ? [] : [formatCost(cost, facts.currency)]),
    ...(tokens === null ? [] : [shortCount(tokens)]),
  ].map((text) => `  ${text}`).join("");
  const keys = interrupts !== "possible" ? "" : `   [i]nterrupt${facts.step === null ? "" : " [p]lan"}`;
  const doing = interrupts === "under way" ? "interrupting" : doingText(facts);
  // The keys are the first to go where the terminal is narrow.
  const shownKeys = textWidth(head + tail + keys) + leastText > columns ? "" : keys;
  const room = columns - textWidth(head + tail + shownKeys) - 2;
  const text = room < leastText / 2 ? "" : `  ${fitLine(safeLine(doing), room)}`;
  return `${paint("cyan", head)}${text}${paint("dim", `${tail}${shownKeys}`)}`;
}

/** Columns for what the session does. */
const leastText = 24;

function doingText(facts: SessionProgress): string {
  const { step, doing, isCalling } = facts;
  if (step === null) return doing;
  return `${step.number}/${step.of} ${step.text}${isCalling ? ` · ${doing}` : ""}`;
}
