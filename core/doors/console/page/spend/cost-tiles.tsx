import { formatCost } from "../../../../../plugin-sdk/currency.ts";
import type { UsageRow } from "../../../../../plugin-sdk/usage-row.ts";
import { type Costs, sumOf, type UsageSum } from "./spend-sums.ts";

const titles = {
  wire: "Counted",
  reported: "Reported",
  estimated: "Estimated",
  not_billed: "Not billed",
  unknown: "Unknown",
} as const;

/** Costs by what is known of them: a figure is beside the sessions that it is of, and beside no others. */
export function CostTiles({ rows, currencies }: { rows: readonly UsageRow[]; currencies: readonly string[] }) {
  const { by } = sumOf(rows, null);
  const sums = currencies.map((currency) => ({ currency, sum: sumOf(rows, currency) }));
  const figure = (kind: keyof Costs) =>
    sums.filter(({ sum }) => sum[kind] > 0).map(({ currency, sum }) => formatCost(sum[kind], currency)).join(" + ");
  return (
    <div class="tiles">
      {by.wire > 0 && <Tile kind="wire" figure={figure("wire")} by={by} note="the host saw their calls" />}
      <Tile kind="reported" figure={figure("reported")} by={by} />
      <Tile kind="estimated" figure={figure("estimated")} by={by} />
      {by.not_billed > 0 && <Tile kind="not_billed" figure="$0" by={by} note="a plan covers them" />}
      <Tile kind="unknown" figure="" by={by} note="their agents told no cost" />
    </div>
  );
}

function Tile(
  { kind, figure, by, note }: { kind: keyof typeof titles; figure: string; by: UsageSum["by"]; note?: string },
) {
  const sessions = by[kind];
  return (
    <div class={`tile basis-${kind}`}>
      <h2>{titles[kind]}</h2>
      <p class="tile-figure">{figure !== "" ? figure : kind === "unknown" && sessions > 0 ? "?" : "—"}</p>
      <p class="quiet-line">
        {sessions.toLocaleString("en")} {sessions === 1 ? "session" : "sessions"}
        {sessions > 0 && note !== undefined && `: ${note}`}
      </p>
    </div>
  );
}
