import type { AccessMode } from "../../../plugin-sdk/access-modes.ts";
import type { UsageReport } from "../../../plugin-sdk/result.ts";

/** What a report says but for the time. */
export type UsageFigures = Omit<UsageReport, "duration_ms">;

/** How an attempt reaches its agent. */
export interface AgentAccess {
  /** Null where the adapter lists none. */
  mode: AccessMode | null;
  /** The model that was asked for. */
  model?: string | undefined;
}

/** What an amount of money is rounded to: so that no sum shows how floating point adds, and no token is for nothing. */
const smallest = 1e9;

/**
 * Usage with a cost from the prices of the access mode, where the agent reports none. A plan paid by the month and a
 * model of one's own cost nothing more for a session. Of an API, tokens without a known price, and a price whose tokens
 * nobody knows, leave the cost unknown; so does a model other than the mode's. Cached tokens have no price of their own:
 * they count as the input they are part of.
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

/** An amount to a thousandth of a millionth of its unit. */
export function roundMoney(amount: number): number {
  const rounded = Math.round(amount * smallest) / smallest;
  // Beyond what a number counts exactly there is nothing to round.
  return Number.isFinite(rounded) ? rounded : amount;
}

/** What is free costs nothing, however much of it there was. */
function priceOf(tokens: number | null, per1k: number | null): number | null {
  if (per1k === 0) return 0;
  return tokens === null || per1k === null ? null : (tokens * per1k) / 1000;
}
