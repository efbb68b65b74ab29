import type { ModelCallEvent } from "../../../../plugin-sdk/envelope.ts";
import { omitEmpty } from "../../../../plugin-sdk/optional-fields.ts";
import type { WireUsage } from "../../../../plugin-sdk/result.ts";
import type { MeteredCall } from "../../../walls/agent/meter/meter.ts";
import type { Charge } from "./named-budgets.ts";
import { type AgentAccess, highestPrice, priceUsage, roundMoney, untold } from "./priced-usage.ts";

/** Share by which an agent's word may differ from what was seen. */
const tolerated = 0.05;

/** A call, as far as its figures go. */
export interface CountedCall extends
  Pick<
    MeteredCall,
    "model" | "status" | "tokens_in" | "tokens_out" | "tokens_cached" | "is_known" | "by_size"
  > {
  /** Of a call in the journal, its cost there; absent: it follows from the prices. */
  cost?: number | null;
  currency?: string | null;
  counted?: ModelCallEvent["counted"];
}

/** Cost of some calls; null where one of them has no price. */
type Sum = Pick<Charge, "cost" | "currency">;

/** Adds up the calls of models that the host saw pass. */
export class WireMeter {
  calls = 0;
  unknown = 0;
  #tokens = { tokens_in: 0, tokens_out: 0, tokens_cached: 0 };
  #cost: Sum = { cost: 0, currency: null };
  /** Figures for budgets: {@link chargeOf} of each call, without the cost of one that has none. */
  most = { cost: 0, tokens: 0 };
  /** Whether each call has a known cost. */
  isPriced = true;

  /** Counts a call. One that failed costs nothing. */
  take(call: CountedCall, access: AgentAccess | null): void {
    this.calls++;
    if (!call.is_known) this.unknown++;
    for (const name of ["tokens_in", "tokens_out", "tokens_cached"] as const) this.#tokens[name] += call[name] ?? 0;
    this.#cost = added(this.#cost, costOf(call, access, priceUsage));
    const { tokens, cost } = chargeOf(call, access);
    this.most = { cost: roundMoney(this.most.cost + (cost ?? 0)), tokens: this.most.tokens + tokens };
    this.isPriced &&= cost !== null;
  }

  /** Returns the input and output tokens; those of answers that broke off as far as they were told. */
  get tokens(): number {
    return this.#tokens.tokens_in + this.#tokens.tokens_out;
  }

  /** Whether these are all calls of an agent by its word: it may have called a model elsewhere. */
  coversAll(reported: number | null): boolean {
    return this.calls > 0 && (reported ?? 0) <= this.most.tokens * (1 + tolerated);
  }

  /** @param said tokens by the agent's word; null where it told none, or not all */
  report(said: number | null): WireUsage | null {
    if (this.calls === 0) return null;
    const differs = said !== null && Math.abs(said - this.tokens) > this.tokens * tolerated;
    return {
      calls: this.calls,
      unknown: this.unknown,
      ...this.#tokens,
      cost: this.#cost.cost,
      currency: this.#cost.cost === null ? null : this.#cost.currency,
      ...(differs ? { reported_tokens: said } : {}),
      ...countedBeyond(this.most, { tokens: this.tokens, cost: this.#cost.cost }),
    };
  }
}

/** Makes the event of a call. */
export function callEvent(call: MeteredCall, access: AgentAccess | null): ModelCallEvent {
  const { model, status, tokens_in, tokens_out, tokens_cached, is_known, windows } = call;
  const paid = costOf(call, access, priceUsage);
  return {
    type: "model_call",
    model,
    status,
    tokens_in,
    tokens_out,
    tokens_cached,
    ...paid,
    ...(is_known ? {} : { partial: true as const }),
    ...countedBeyond(chargeOf(call, access), { tokens: (tokens_in ?? 0) + (tokens_out ?? 0), cost: paid.cost }),
    ...omitEmpty({ windows }),
  };
}

/** The field of what counts in a budget, where that is more than what was told. */
function countedBeyond({ tokens, cost }: Pick<Charge, "tokens" | "cost">, told: Pick<Charge, "tokens" | "cost">) {
  return tokens > told.tokens || (cost ?? 0) > (told.cost ?? 0) ? { counted: { tokens, cost: cost ?? 0 } } : {};
}

/**
 * Returns what a call counts in a budget: its highest price, which is the access mode's for a model that has none. Where its
 * answer did not tell its tokens, they count by its size.
 */
export function chargeOf(call: CountedCall, access: AgentAccess | null): Charge {
  if (call.counted !== undefined) return { currency: call.currency ?? null, ...call.counted };
  const by_size = call.is_known ? { tokens_in: 0, tokens_out: 0 } : call.by_size;
  const tokens_in = call.tokens_in ?? by_size.tokens_in;
  const tokens_out = Math.max(call.tokens_out ?? 0, by_size.tokens_out);
  const counted = call.is_known ? call : { ...call, tokens_in, tokens_out };
  const cost = costOf(counted, access, highestPrice);
  const paid = cost.cost === null && access !== null
    ? costOf({ ...counted, model: null }, { mode: access.mode }, highestPrice)
    : cost;
  return { ...paid, tokens: tokens_in + tokens_out };
}

/** The cost of a call; for an answer that broke off, the cost of the tokens that it told. */
function costOf(call: CountedCall, access: AgentAccess | null, price: typeof priceUsage): Sum {
  const { tokens_in, tokens_out, tokens_cached, model } = call;
  const hasTokens = tokens_in !== null || tokens_out !== null;
  if (call.cost !== undefined && call.cost !== null) return { cost: call.cost, currency: call.currency ?? null };
  if (call.is_known && !hasTokens) return { cost: 0, currency: null };
  if (access === null) return { cost: null, currency: null };
  const told = hasTokens ? { tokens_in: tokens_in ?? 0, tokens_out: tokens_out ?? 0 } : {};
  const figures = { ...untold, tokens_cached, ...told };
  // An answer that names no model is of the one that was asked for.
  const { cost, currency } = price(figures, { mode: access.mode, model: model ?? access.model });
  return { cost, currency };
}

function added(one: Sum, other: Sum): Sum {
  if (one.cost === null || other.cost === null) return { cost: null, currency: null };
  if (one.currency !== null && other.currency !== null && one.currency !== other.currency) {
    return { cost: null, currency: null };
  }
  return { cost: roundMoney(one.cost + other.cost), currency: one.currency ?? other.currency };
}
