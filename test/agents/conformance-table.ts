import { outcomeOf } from "../../plugin-sdk/result.ts";
import type { AgentRuns, CaseRun, Report } from "./proving-ground/report.ts";

/** Cases in which the model's server fails: no agent may pass such a turn off as a good one. */
const failing = [
  "unauthorised",
  "forbidden",
  "rate_limit",
  "rate_limit_wait",
  "plan_limit",
  "server_error",
  "context_overflow",
  "malformed",
] as const;

/** Columns of the table, each with what gives its cell from an agent's runs: a word, or null for what it cannot. */
export const columns = {
  detect: ({ detected }) => detected.availability === "available" ? "yes" : null,
  "auth probe": ({ logged_out }) => logged_out === "unauthenticated" ? "yes" : null,
  stream: ({ cases }) => cases.long?.pieces === "many" ? "yes" : null,
  thinking: ({ cases }) => cases.thinking?.kinds.includes("thinking") ? "yes" : null,
  tools: ({ cases }) => cases.command?.kinds.includes("tool_call") ? "yes" : null,
  files: ({ cases }) => cases.write?.kinds.includes("file_change") ? "yes" : null,
  failures: ({ cases }) => failing.every((name) => fails(cases[name])) ? "yes" : null,
  usage: ({ cases }) => cases.text?.tokens ? "yes" : null,
  cost: ({ cases }) => cases.text?.cost ?? null,
  "rate limit": ({ cases }) => cases.plan_limit?.stop_reason === "rate_limit" ? "yes" : null,
  resume: ({ cases }) => cases.resume?.stop_reason === "end_turn" ? "yes" : null,
  approval: ({ cases }) => cases.denied?.kinds.includes("permission_request") ? "yes" : null,
  interrupt: ({ cases }) => cases.endless?.stop_reason === "interrupted" ? "yes" : null,
} satisfies Record<string, (runs: AgentRuns) => string | null>;

/** One that an agent is not put through says nothing. */
function fails(run: CaseRun | undefined): boolean {
  return run === undefined || outcomeOf(run.stop_reason) !== "completed";
}

/** Name of a column. */
export type Column = keyof typeof columns;

/** Agents of the table, each with why it lacks what it lacks. */
export type Reasons = Record<string, Partial<Record<Column, string>>>;

/** Where the table stands in the README. */
export const tableBegin = "<!-- conformance: npm run agents:table writes this -->";
/** Where it ends. */
export const tableEnd = "<!-- end of conformance -->";

/** The table, with the reason of each cell that is empty. */
export function conformanceTable(report: Report, reasons: Reasons): string {
  const names = Object.keys(columns) as Column[];
  const notes: string[] = [];
  const noteOf = (reason: string) => {
    if (!notes.includes(reason)) notes.push(reason);
    return `– (${notes.indexOf(reason) + 1})`;
  };
  const shown = Object.entries(report).filter(([agent]) => Object.hasOwn(reasons, agent));
  const rows = shown.map(([agent, runs]) => {
    const cells = names.map((name) => columns[name](runs) ?? noteOf(reasons[agent]?.[name] ?? "no reason"));
    return [`\`${agent}\``, ...cells];
  });
  const table = align([["", ...names], ...rows]);
  const list = notes.map((note, index) => `${index + 1}. ${note}`);
  return [tableBegin, "", ...table, "", ...list, "", tableEnd].join("\n");
}

/** A table as the formatter writes it. */
function align([head = [], ...rows]: string[][]): string[] {
  const widths = head.map((_, column) => Math.max(3, ...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (row: string[]) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  return [line(head), `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`, ...rows.map(line)];
}
