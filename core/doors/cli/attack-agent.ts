import type { AgentEscape, EscapeReport } from "../../kit/attack/agent-escape.ts";
import { agentEscapes } from "../../kit/attack/cases/agent.ts";
import { runAgentEscapes } from "../../kit/attack/run-agent-escapes.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Invocation } from "./command.ts";
import { watchInterrupts } from "./interrupts.ts";
import { safeText } from "./render/agent-text.ts";
import { createPaint, type Paint } from "./render/paint.ts";

/** Tries the escapes of an agent's program on this machine; 1 when one gets through. */
export async function attackAgent({ terminal, json, args, options }: Invocation): Promise<number> {
  const paint = createPaint(terminal.colours.stdout);
  const write = (text: string) => void terminal.stdout.write(text);
  const escapes = chosen(args[0]);
  if (options["list"] === true) {
    for (const { id, name } of escapes) write(json ? `${JSON.stringify({ id, name })}\n` : `${id.padEnd(4)} ${name}\n`);
    return 0;
  }
  using interrupts = watchInterrupts(terminal);
  const reports = await runAgentEscapes(escapes, {
    contain: "on",
    signal: interrupts.signal,
    onReport: (report) => write(json ? `${JSON.stringify(report)}\n` : reportLine(report, paint)),
  });
  const count = (outcome: EscapeReport["outcome"]) => reports.filter((report) => report.outcome === outcome).length;
  const summary = { held: count("held"), escaped: count("escaped"), skipped: count("skipped") };
  write(json ? `${JSON.stringify({ summary })}\n` : summaryText(summary, paint));
  return summary.escaped === 0 && reports.length === escapes.length ? 0 : 1;
}

function chosen(wanted: string | undefined): readonly AgentEscape[] {
  if (wanted === undefined) return agentEscapes;
  const ids = wanted.toUpperCase().split(",").map((id) => id.trim());
  const found = agentEscapes.filter(({ id }) =>
    ids.some((one) => id === one || /^[A-Z]$/.test(one) && id.startsWith(one))
  );
  if (found.length > 0) return found;
  throw new BulkheadError("not_found", `No escape is called "${wanted}".`, {
    hint: 'See them with "bulkhead attack --agent --list".',
  });
}

function reportLine({ id, name, outcome, detail, duration_ms }: EscapeReport, paint: Paint): string {
  const marks = { held: paint("green", "HELD"), escaped: paint("red", "FELL"), skipped: paint("yellow", "SKIP") };
  const why = outcome === "held" ? "" : `\n       ${safeText(detail).replaceAll("\n", " ")}`;
  return ` ${marks[outcome]}  ${id.padEnd(4)} ${name.padEnd(46)} ${paint("dim", `${duration_ms} ms`)}${why}\n`;
}

function summaryText(summary: { held: number; escaped: number; skipped: number }, paint: Paint): string {
  const { held, escaped, skipped } = summary;
  const verdict = escaped === 0 ? paint("green", "✔ No way out") : paint("red", "✘ An agent got out");
  return `\n ${verdict}: ${held} held, ${escaped} fell, ${skipped} skipped.\n`;
}
