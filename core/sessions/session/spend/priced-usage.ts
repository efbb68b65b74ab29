import type { AccessMode, Pricing } from "../../../../plugin-sdk/access-modes.ts";
import type { UsageReport } from "../../../../plugin-sdk/result.ts";

/** Figures of a usage report. */
export type UsageFigures = Omit<UsageReport, "duration_ms" | "partial" | "requests" | "tokens_used" | "wire">;

/** Figures of which none is told. */
export const untold: Readonly<UsageFigures> = {
  tokens_in: null,
  tokens_out: null,
  tokens_cached: null,
  cost: null,
  currency: null,
  model: null,
  scope: null,
  basis: "unknown",
};

/** How an attempt reaches its agent. */
export interface AgentAccess {
  /** Null when the adapter lists none. */
  mode: AccessMode | null;
  /** The model that runs; null when it is unknown, absent when it is the mode's. */
  model?: string | null | undefined;
}

/** Inverse of the unit that money is rounded to: sums show no floating-point noise, and no token costs nothing. */
const smallest = 1e9;

/**
 * Adds a cost from the access mode's prices, where the agent reports none. For a plan paid by the month and for a
 * self-hosted model a session costs nothing more. For an API the cost stays unknown when tokens have no known price,
 * when a price has no known tokens, or when the model is not the mode's. Cached tokens are a part of the input and have
 * a price of their own.
 */
export function priceUsage(usage: UsageFigures, { mode, model }: AgentAccess): UsageFigures {
  if (usage.cost !== null || mode === null) return usage;
  if (mode.type !== "api") return { ...usage, cost: 0, currency: null, basis: "estimated" };
  if (model === null || (model !== undefined && !isModel(model, mode.model))) return usage;
  const cost = costOf(usage, mode.pricing);
  return cost === null ? usage : { ...usage, cost, currency: mode.pricing.currency, basis: "estimated" };
}

/**
 * Like {@link priceUsage}, for a ceiling on the cost: cached tokens without a known price count as other input, which
 * never costs less.
 */
export function highestPrice(usage: UsageFigures, { mode, model }: AgentAccess): UsageFigures {
  if (mode?.type !== "api") return priceUsage(usage, { mode, model });
  const { pricing } = mode;
  const cached_per_1k_tokens = pricing.cached_per_1k_tokens ?? pricing.input_per_1k_tokens;
  return priceUsage(usage, { mode: { ...mode, pricing: { ...pricing, cached_per_1k_tokens } }, model });
}

function costOf({ tokens_in, tokens_out, tokens_cached }: UsageFigures, pricing: Pricing): number | null {
  const { input_per_1k_tokens, output_per_1k_tokens, cached_per_1k_tokens = null } = pricing;
  const cached = Math.min(tokens_cached ?? 0, tokens_in ?? Infinity);
  const parts = [
    priceOf(tokens_in === null ? null : tokens_in - cached, input_per_1k_tokens),
    cached === 0 || input_per_1k_tokens === 0 ? 0 : priceOf(cached, cached_per_1k_tokens),
    priceOf(tokens_out, output_per_1k_tokens),
  ];
  const known = parts.filter((part) => part !== null);
  return known.length < parts.length ? null : roundMoney(known.reduce((sum, part) => sum + part, 0));
}

/** Whether a name is that of a model, perhaps with the date of its version, as providers report it. */
export function isModel(name: string, model: string): boolean {
  return name === model ||
    (name.startsWith(model) && /^[-@](?:latest|\d{8}|\d{4}-\d{2}-\d{2})$/.test(name.slice(model.length)));
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
