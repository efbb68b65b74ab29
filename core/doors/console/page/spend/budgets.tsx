import { shortTimes } from "../rows/clock-text.ts";
import type { BudgetReport } from "../../../../../plugin-sdk/budget-report.ts";
import { formatCost } from "../../../../../plugin-sdk/currency.ts";
import { useConsole } from "../console-context.ts";
import { Failed, useLoaded } from "../parts.tsx";
import { plainText } from "../shown-text.ts";
import { countText } from "./count-text.ts";
import { SpentOf } from "./spent-of.tsx";

/** The operator's budgets: what is spent of each, and when it begins again. Nothing where there is none. */
export function Budgets() {
  const { api } = useConsole();
  const [loaded] = useLoaded((signal) => api.get<{ budgets: BudgetReport[] }>("/v1/budgets", {}, signal), []);
  if (loaded === undefined) return null;
  if ("failed" in loaded) return <Failed of={loaded.failed} />;
  const { budgets } = loaded.value;
  if (budgets.length === 0) return null;
  return (
    <section aria-label="Budgets">
      <ul class="tiles budgets">{budgets.map((budget) => <BudgetTile key={budget.name} of={budget} />)}</ul>
    </section>
  );
}

const times = { day: "today", month: "this month" } as const;

function BudgetTile({ of: budget }: { of: BudgetReport }) {
  const { per, cost, tokens, spent_cost, spent_tokens, unpriced, until, is_held } = budget;
  const name = plainText(budget.name, 60);
  const labels = Object.entries(budget.labels);
  const money = (amount: number) => formatCost(amount, budget.currency ?? "USD");
  const isSpent = cost !== null && spent_cost >= cost || tokens !== null && spent_tokens >= tokens;
  const end = until === null ? null : shortTimes.format(new Date(until));
  return (
    <li class="tile">
      <h2>
        {name} {per !== null && <span class="quiet-line">{times[per]}</span>}
      </h2>
      <p class="chips">
        {labels.length === 0 && <span class="quiet-line">all sessions</span>}
        {labels.map(([label, value]) => <span class="tag">{plainText(`${label}=${value}`, 80)}</span>)}
      </p>
      {!is_held && <p>Not held: in a cluster no machine knows what the others spend.</p>}
      {is_held && cost !== null && (
        <SpentOf name={name} spent={spent_cost} whole={cost} text={money} isLeast={unpriced > 0} />
      )}
      {is_held && tokens !== null && (
        <SpentOf name={name} spent={spent_tokens} whole={tokens} text={countText} unit=" tokens" />
      )}
      {is_held && unpriced > 0 && (
        <p class="quiet-line">{unpriced.toLocaleString("en")} calls or sessions without a price</p>
      )}
      {is_held && isSpent && <p class="failed-text">Spent: no call begins{end !== null && ` until ${end}`}</p>}
      {is_held && !isSpent && end !== null && <p class="quiet-line">Begins again {end}</p>}
    </li>
  );
}
