import { InvalidArgumentError } from "commander";
import { type DefineCommand, examples, type Invocation, tellEach } from "../command.ts";
import { openSessions } from "../open-sessions.ts";
import { budgetLine } from "../render/budget-line.ts";
import { safeLine } from "../render/agent-text.ts";
import type { BudgetReport } from "../../../../plugin-sdk/budget-report.ts";
import { formatCost } from "../../../../plugin-sdk/currency.ts";
import { formatCount, plural } from "../render/quantities.ts";
import type { Cell } from "../render/table.ts";
import { tableText } from "../show-session.ts";
import { addTold, addUsage, type DayUsage, noUsage } from "../usage-rows.ts";
import { whileWaiting } from "../while-waiting.ts";

/** `bulkhead usage`. */
export const defineUsage: DefineCommand = (command, bind) => {
  command
    .option("--days <n>", "how many days, today included; default: 7", readDays)
    .option("--adapter <id>", "only sessions of this adapter")
    .addHelpText(...examples(
      ["bulkhead usage", "tokens and cost of the last seven days, by day and agent"],
      ["bulkhead usage --days 30 --adapter my-agent", "one agent over a month"],
      ["bulkhead usage --json", "one row a line"],
    ))
    .action(bind(usage));
};

async function usage(call: Invocation): Promise<number> {
  const { terminal, options } = call;
  const days = options["days"] as number | undefined ?? 7;
  await using opened = await openSessions(call);
  const { timeZone: time_zone } = new Intl.DateTimeFormat().resolvedOptions();
  const query = { days, adapter: options["adapter"] as string | undefined, time_zone };
  const rows = addUsage(await whileWaiting("Adding up …", { terminal, work: opened.sessions.usage(query) }));
  const budgets = call.json ? [] : await opened.sessions.budgets();
  return await tellEach(call, rows, () => [table(rows, call, days), ...budgetRows(budgets)].join("\n"));
}

/** Makes a line for each budget. */
function budgetRows(budgets: readonly BudgetReport[]): string[] {
  return budgets.length === 0 ? [] : ["", ...budgets.map((budget) => ` budget ${budgetLine(budget)}`)];
}

function table(rows: readonly DayUsage[], { terminal }: Invocation, days: number): string {
  if (rows.length === 0) return `No session has ended in the last ${plural(days, "day")}.`;
  const head = ["day", "agent", "sessions", "tokens in", "cached", "tokens out", "cost", "note"];
  const total = rows.length === 1 ? [] : [cells(totalOf(rows))];
  return tableText([...rows.map(cells), ...total], { terminal, head, wraps: true });
}

function cells(
  { day, adapter_id, sessions, unknown, no_cost, partial, requests, cost, estimated, ...tokens }: DayUsage,
): Cell[] {
  const costs = Object.entries(cost).map(([currency, amount]) => formatCost(amount, currency)).join(" + ");
  // Not 0: of none of these sessions the agent told a figure.
  const known = (count: number | null) => count === null ? "-" : formatCount(count);
  const note = [
    ...(requests === null ? [] : [plural(requests, "request")]),
    ...(unknown === 0 ? [] : [`${formatCount(unknown)} not reported`]),
    ...(no_cost === unknown ? [] : [`${formatCount(no_cost - unknown)} without a cost`]),
    ...(partial === 0 ? [] : [`${formatCount(partial)} counted in part: at least these tokens`]),
    ...(estimated ? ["cost estimated from prices"] : []),
  ].join(", ");
  return [
    day,
    { text: safeLine(adapter_id), tone: "bold" },
    formatCount(sessions),
    known(tokens.tokens_in),
    known(tokens.tokens_cached),
    known(tokens.tokens_out),
    costs === "" ? "-" : costs,
    { text: note, tone: "dim" },
  ];
}

function totalOf(rows: readonly DayUsage[]): DayUsage {
  const total = noUsage();
  for (const row of rows) {
    for (const name of ["sessions", "unknown", "no_cost", "partial"] as const) total[name] += row[name];
    addTold(total, row);
    for (const [currency, amount] of Object.entries(row.cost)) {
      total.cost[currency] = (total.cost[currency] ?? 0) + amount;
    }
    total.estimated ||= row.estimated;
  }
  return total;
}

function readDays(typed: string): number {
  const days = Number(typed);
  if (!Number.isInteger(days) || days < 1 || days > 3660) throw new InvalidArgumentError("Expected a number of days.");
  return days;
}
