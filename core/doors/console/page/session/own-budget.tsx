import { formatCost } from "../../../../../plugin-sdk/currency.ts";
import type { EffectiveSettings } from "../../../../../plugin-sdk/result.ts";
import { countText } from "../spend/count-text.ts";
import { SpentOf } from "../spend/spent-of.tsx";
import type { FiguresSoFar } from "./figures-so-far.ts";

const name = "Budget of this session";

const bases = {
  wire: "Counted by the host in every call.",
  reported: "By the agent's own figures, which come late: a turn may pass it.",
} as const;

interface OwnBudgetProps {
  effective: Pick<EffectiveSettings, "budget" | "budget_basis" | "unenforced">;
  /** Null: nothing is told yet. */
  spent: FiguresSoFar | null;
}

/** The budget of a session itself: what is spent of it, and whose figures hold it. Nothing where it has none. */
export function OwnBudget({ effective: { budget, budget_basis, unenforced }, spent }: OwnBudgetProps) {
  const held = Object.keys(budget ?? {}).map((name) => `budget.${name}`);
  const unheld = unenforced.filter((field) => field.startsWith("budget") && !held.includes(field));
  if (budget === null && unheld.length === 0) return null;
  const { cost, tokens, turns, tool_calls } = budget ?? {};
  const money = (amount: number) => formatCost(amount, spent?.currency ?? "USD");
  const isLeast = spent?.isLeast === true;
  const counts = [
    ...(turns === undefined ? [] : [`${turns} turns`]),
    ...(tool_calls === undefined ? [] : [`${tool_calls} tool calls`]),
  ];
  return (
    <div class="own-budget" role="group" aria-label={name}>
      <h3>Budget</h3>
      {cost !== undefined && (
        <SpentOf name={name} spent={spent?.cost ?? 0} whole={cost} text={money} isLeast={isLeast} />
      )}
      {tokens !== undefined && (
        <SpentOf
          name={name}
          spent={spent?.tokens ?? 0}
          whole={tokens}
          text={countText}
          unit=" tokens"
          isLeast={isLeast}
        />
      )}
      {counts.length > 0 && <p>Up to {counts.join(" and ")}</p>}
      {budget_basis !== undefined && <p class="quiet-line">{bases[budget_basis]}</p>}
      {unheld.length > 0 && <p class="quiet-line">Not held: {unheld.join(", ")}</p>}
    </div>
  );
}
