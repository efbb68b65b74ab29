import type { AccessMode } from "../../../plugin-sdk/access-modes.ts";
import type { UsageReport } from "../../../plugin-sdk/result.ts";

/** A usage report without its duration. */
export type UsageFigures = Omit<UsageReport, "duration_ms">;

/** How an attempt reaches its agent. */
export interface AgentAccess {
  /** Null when the adapter lists none. */
  mode: AccessMode | null;
  model?: string | undefined;
}

/** Inverse of the unit that money is rounded to: sums show no floating-point noise, and no token costs nothing. */
const smallest = 1e9;

/**
 * Adds a cost from the access mode's prices, where the agent reports none. For a plan paid by the month and for a
 * self-hosted model a session costs nothing more. For an API the cost stays unknown when tokens have no known price,
 * when a price has no known tokens, or when the model is not the mode's. Cached tokens have no price of their own: they
 * count as the input they are part of.
 */
export function priceUsage(usage: UsageFigures, { mode, model }: AgentAccess): UsageFigures {
  if (usage.cost !== null || mode === null) return usage;
  if (mode.type !== "api") return { ...usage, cost: 0, currency: null, basis: "estimated" };
  if (model !== undefined && model !== mode.model) return usage;
  const { input_per_1k_tokens, output_per_1k_tokens, currency } = mode.pricing;
  const input = priceOf(usage.tokens_in, input_per_1k_tokens);
  const output = priceOf(usage.tokens_out, output_per_1k_tokens);
  if (input === null || output === null) return usage;
  return { ...usage, cost: roundMoney(input + output), currency, basis: "estimated" };
}

/** Rounds an amount to a thousandth of a millionth of its unit. */
export function roundMoney(amount: number): number {
  const rounded = Math.round(amount * smallest) / smallest;
  // An overflow means that the amount is too large to have decimals: keep it.
  return Number.isFinite(rounded) ? rounded : amount;
}

/** Returns the price of the tokens. A free model costs nothing, even if the number of tokens is unknown. */
function priceOf(tokens: number | null, per1k: number | null): number | null {
  if (per1k === 0) return 0;
  return tokens === null || per1k === null ? null : (tokens * per1k) / 1000;
}
