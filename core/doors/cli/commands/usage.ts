import { InvalidArgumentError } from "commander";
import { type DefineCommand, examples, type Invocation, tellEach } from "../command.ts";
import { openSessions } from "../open-sessions.ts";
import { safeLine } from "../render/agent-text.ts";
import { formatCost, formatCount, plural } from "../render/quantities.ts";
import type { Cell } from "../render/table.ts";
import { tableText } from "../show-session.ts";
import { addUsage, type UsageRow, usedSessions } from "../usage-rows.ts";
import { whileWaiting } from "../while-waiting.ts";

const dayMs = 24 * 60 * 60 * 1000;

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
  const rows = new Map<string, UsageRow>();
  const work = async () => {
    const query = { since: startOfToday() - (days - 1) * dayMs, adapter: options["adapter"] as string | undefined };
    for await (const used of usedSessions(opened.sessions, query)) addUsage(rows, used);
  };
  await whileWaiting("Adding up …", { terminal, work: work() });
  const sorted = [...rows.values()].sort((a, b) =>
    b.day.localeCompare(a.day) || a.adapter_id.localeCompare(b.adapter_id)
  );
  return await tellEach(call, sorted, () => table(sorted, call, days));
}

function table(rows: readonly UsageRow[], { terminal }: Invocation, days: number): string {
  if (rows.length === 0) return `No session has ended in the last ${plural(days, "day")}.`;
  const head = ["day", "agent", "sessions", "tokens in", "tokens out", "cost", "note"];
  const total = rows.length === 1 ? [] : [cells(totalOf(rows))];
  return tableText([...rows.map(cells), ...total], { terminal, head, wraps: true });
}

function cells({ day, adapter_id, sessions, unknown, tokens_in, tokens_out, cost, estimated }: UsageRow): Cell[] {
  const costs = Object.entries(cost).map(([currency, amount]) => formatCost(amount, currency)).join(" + ");
  // Not 0: of none of these sessions the agent told a figure.
  const known = (count: number) => unknown === sessions ? "-" : formatCount(count);
  const note = [
    ...(unknown === 0 ? [] : [`${formatCount(unknown)} not reported`]),
    ...(estimated ? ["cost estimated from prices"] : []),
  ].join(", ");
  return [
    day,
    { text: safeLine(adapter_id), tone: "bold" },
    formatCount(sessions),
    known(tokens_in),
    known(tokens_out),
    costs === "" ? "-" : costs,
    { text: note, tone: "dim" },
  ];
}

function totalOf(rows: readonly UsageRow[]): UsageRow {
  const total: UsageRow = {
    day: "all",
    adapter_id: "",
    sessions: 0,
    unknown: 0,
    tokens_in: 0,
    tokens_out: 0,
    cost: {},
    estimated: false,
  };
  for (const row of rows) {
    for (const name of ["sessions", "unknown", "tokens_in", "tokens_out"] as const) total[name] += row[name];
    for (const [currency, amount] of Object.entries(row.cost)) {
      total.cost[currency] = (total.cost[currency] ?? 0) + amount;
    }
    total.estimated ||= row.estimated;
  }
  return total;
}

function startOfToday(): number {
  return new Date().setHours(0, 0, 0, 0);
}

function readDays(typed: string): number {
  const days = Number(typed);
  if (!Number.isInteger(days) || days < 1 || days > 3660) throw new InvalidArgumentError("Expected a number of days.");
  return days;
}
