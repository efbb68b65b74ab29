import type { EscapeReport } from "../../kit/attack/agent-escape.ts";
import { agentEscapes } from "../../../test/hostile/cases/agent.ts";
import { runAgentEscapes } from "../../kit/attack/run-agent-escapes.ts";
import { runWalledCases } from "../../kit/attack/run-walled-cases.ts";
import { readWalledCases } from "../../kit/attack/walled-case.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Invocation } from "./command.ts";
import { watchInterrupts } from "./interrupts.ts";
import { safeText } from "./render/agent-text.ts";
import { createPaint, type Paint } from "./render/paint.ts";

/** Tries the escapes of an agent's programs on this machine; 1 when one gets through. */
export async function attackAgent({ terminal, json, args, options }: Invocation): Promise<number> {
  const paint = createPaint(terminal.colours.stdout);
  const write = (text: string) => void terminal.stdout.write(text);
  const { cases, notTried } = await readWalledCases();
  const isChosen = choice(args[0]);
  const escapes = agentEscapes.filter(isChosen);
  const walled = cases.filter(isChosen);
  const all = [...escapes, ...walled];
  if (all.length === 0) {
    throw new BulkheadError("not_found", `No escape is called "${args[0]}".`, {
      hint: 'See them with "bulkhead attack --agent --list".',
    });
  }
  if (options["list"] === true) {
    for (const { id, name } of all) write(json ? `${JSON.stringify({ id, name })}\n` : `${id.padEnd(5)} ${name}\n`);
    return 0;
  }
  using interrupts = watchInterrupts(terminal);
  const { signal } = interrupts;
  const onReport = (report: EscapeReport) => write(json ? `${JSON.stringify(report)}\n` : reportLine(report, paint));
  const reports = [
    ...await runAgentEscapes(escapes, { contain: "on", signal, onReport }),
    ...await runWalledCases(walled, { signal, onReport }),
  ];
  const count = (outcome: EscapeReport["outcome"]) => reports.filter((report) => report.outcome === outcome).length;
  const summary = {
    held: count("held"),
    told: count("told"),
    escaped: count("escaped"),
    skipped: count("skipped"),
    not_tried: notTried.map(({ why }) => why),
  };
  write(json ? `${JSON.stringify({ summary })}\n` : summaryText(summary, paint));
  return summary.escaped === 0 && reports.length === all.length ? 0 : 1;
}

/** Whether an attack is one of those that were asked for: by id, by letter, or by the id of all forms of a case. */
export function choice(wanted: string | undefined): (escape: { id: string }) => boolean {
  if (wanted === undefined) return () => true;
  const ids = wanted.toUpperCase().split(",").map((id) => id.trim());
  return ({ id }) =>
    ids.some((one) => id === one || id.startsWith(`${one}.`) || /^[A-Z]$/.test(one) && id.startsWith(one));
}

function reportLine({ id, name, outcome, detail, duration_ms }: EscapeReport, paint: Paint): string {
  const marks = {
    held: paint("green", "HELD"),
    told: paint("green", "TOLD"),
    escaped: paint("red", "FELL"),
    skipped: paint("yellow", "SKIP"),
  };
  const why = outcome === "held" || outcome === "told" ? "" : `\n       ${safeText(detail).replaceAll("\n", " ")}`;
  return ` ${marks[outcome]}  ${id.padEnd(5)} ${name.padEnd(46)} ${paint("dim", `${duration_ms} ms`)}${why}\n`;
}

interface Summary {
  held: number;
  told: number;
  escaped: number;
  skipped: number;
  not_tried: readonly string[];
}

function summaryText({ held, told, escaped, skipped, not_tried: left }: Summary, paint: Paint): string {
  const verdict = escaped === 0 ? paint("green", "✔ No way out") : paint("red", "✘ An agent got out");
  const counts =
    `${held} held, ${told} told afterwards, ${escaped} fell, ${skipped} skipped, ${left.length} kinds are not tried`;
  return `\n ${verdict}: ${counts}.\n Not tried: ${left.join("; ")}.\n`;
}
