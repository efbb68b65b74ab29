import type { BudgetReport } from "../../../../plugin-sdk/budget-report.ts";
import { formatCost } from "../../../../plugin-sdk/currency.ts";
import { safeLine } from "./agent-text.ts";
import { formatCount } from "./quantities.ts";

/** Says how much of a budget is spent, on one line. */
export function budgetLine(budget: BudgetReport): string {
  const { name, per, cost, tokens, spent_cost, spent_tokens, currency, unpriced, until, is_held } = budget;
  if (!is_held) return safeLine(`${name}: not held, in a cluster no machine knows what the others spend`);
  const money = (amount: number) => formatCost(amount, currency ?? "USD");
  const isSpent = (most: number | null, spent: number) => most !== null && spent >= most;
  const parts = [
    ...(cost === null ? [] : [`${money(spent_cost)} of ${money(cost)}`]),
    ...(tokens === null ? [] : [`${formatCount(spent_tokens)} of ${formatCount(tokens)} tokens`]),
  ];
  const time = per === "day" ? " today" : per === "month" ? " this month" : "";
  const end = !isSpent(cost, spent_cost) && !isSpent(tokens, spent_tokens)
    ? ""
    : until === null
    ? ", spent"
    : `, spent until ${new Date(until).toLocaleString("sv")}`;
  const least = unpriced === 0 ? "" : `, ${formatCount(unpriced)} without a price`;
  return safeLine(`${name}: ${parts.join(", ")}${time}${end}${least}`);
}
