import type { UsageReport } from "../../../../plugin-sdk/result.ts";
import { formatCost } from "../../../../plugin-sdk/currency.ts";
import { countText } from "./spend/count-text.ts";
import { wireText } from "./spend/wire-text.ts";

/** A cost with its basis. Each basis looks different. */
export function UsageText({ of: usage }: { of: UsageReport }) {
  const tokens = usage.tokens_in === null && usage.tokens_out === null
    ? usage.tokens_used ?? null
    : (usage.tokens_in ?? 0) + (usage.tokens_out ?? 0);
  return (
    <span class={`usage usage-${usage.basis}`}>
      <span>
        {usage.cost === null
          ? "cost unknown"
          : `${usage.basis === "estimated" && usage.cost > 0 ? "≈ " : ""}${formatCost(usage.cost, usage.currency)}`}
      </span>
      <span class="quiet-line">
        {[
          tokens === null ? null : `${usage.partial === true ? "at least " : ""}${countText(tokens)} tokens`,
          usage.requests === undefined ? null : `${countText(usage.requests)} requests`,
          usage.cost === null ? null : usage.basis,
        ].filter((one) => one !== null).join(" · ")}
      </span>
      {usage.wire !== undefined && <span class="quiet-line">{wireText(usage.wire)}</span>}
    </span>
  );
}
