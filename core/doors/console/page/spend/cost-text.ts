import { formatCost } from "../../../../../plugin-sdk/currency.ts";
import type { Costs } from "./spend-sums.ts";

/** Writes the costs of some sessions; the estimated part says so. */
export function costText({ wire, reported, estimated }: Costs, currency: string | null): string {
  const parts = [
    ...(wire > 0 ? [`${formatCost(wire, currency)} counted`] : []),
    ...(reported > 0 ? [formatCost(reported, currency)] : []),
    ...(estimated > 0 ? [`≈ ${formatCost(estimated, currency)}`] : []),
  ];
  return parts.length === 0 ? "—" : parts.join(" and ");
}

/** Writes an amount so that it is right in a column; nothing where there is none. */
export function amountText(amount: number, currency: string | null): string {
  return amount > 0 ? formatCost(amount, currency) : "—";
}
