import {
  type AdapterEvent,
  countOf,
  fieldsOf,
  fieldsOrNone,
  type JsonFields,
  numberOf,
  objectsOf,
  textOf,
} from "bulkhead/plugin-sdk";

/** An amount of money. */
export interface Cost {
  cost: number;
  currency: string;
}

/**
 * What the session took, from the answer to its prompt and the last cost that was told; null where the agent does not
 * say. The protocol's own place for it counts what a cache had apart from the input; other agents write `_meta.quota`.
 */
export function usageOf(answer: JsonFields, cost: Cost | null): AdapterEvent | null {
  const quota = fieldsOrNone(fieldsOrNone(answer["_meta"])["quota"]);
  const own = fieldsOf(answer["usage"]);
  const models = objectsOf(quota["model_usage"]).flatMap(({ model }) => textOf(model) ?? []);
  const [model] = models.length === 1 ? models : [];
  const figures = own ? figuresOf(own) : quotaFigures(fieldsOrNone(quota["token_count"]));
  // Agents say 0 of turns that they did not count.
  if (!figures.tokens_in && !figures.tokens_out) return null;
  return {
    type: "usage",
    scope: "session",
    ...figures,
    ...(cost ?? { cost: null }),
    ...(model === undefined ? {} : { model }),
  };
}

/**
 * What the session has cost, as a `usage_update` says; null where it does not. Agents say 0 of models whose price they do
 * not know, so that says nothing.
 */
export function costOf({ cost }: JsonFields): Cost | null {
  const { amount, currency } = fieldsOrNone(cost);
  const spent = numberOf(amount);
  if (!spent || typeof currency !== "string" || currency.length !== 3) return null;
  // To a thousandth of a millionth: sums show how floating point adds.
  return { cost: Math.round(spent * 1e9) / 1e9, currency };
}

/** A `usage_update` as an event: what the session has cost, or how full its context is; null where it says neither. */
export function usageUpdate(update: JsonFields): AdapterEvent | null {
  const cost = costOf(update);
  const none = { tokens_in: null, tokens_out: null, tokens_cached: null };
  if (cost) return { type: "usage", scope: "session", ...none, ...cost };
  const [tokens, room] = [countOf(update["used"]), countOf(update["size"])];
  return tokens === null
    ? null
    : { type: "progress", message: `The context holds ${tokens} of ${room ?? "?"} tokens.` };
}

interface Figures {
  tokens_in: number | null;
  tokens_out: number | null;
  tokens_cached: number | null;
}

function figuresOf(usage: JsonFields): Figures {
  const count = (name: string) => countOf(usage[name]);
  const cached = sum(count("cachedReadTokens"), count("cachedWriteTokens"));
  const out = sum(count("outputTokens"), count("thoughtTokens"));
  const apart = sum(count("inputTokens"), cached);
  const total = count("totalTokens");
  // When the total is not the sum of all counts, the input's count includes the cache's.
  const within = total !== null && sum(apart, out) !== total;
  return {
    tokens_in: within ? count("inputTokens") : apart,
    tokens_out: out,
    tokens_cached: count("cachedReadTokens"),
  };
}

function quotaFigures(counts: JsonFields): Figures {
  const either = (a: string, b: string) => countOf(counts[a]) ?? countOf(counts[b]);
  return {
    tokens_in: either("input_tokens", "inputTokens"),
    tokens_out: either("output_tokens", "outputTokens"),
    tokens_cached: either("cached_tokens", "cachedInputTokens"),
  };
}

function sum(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : a + b;
}
