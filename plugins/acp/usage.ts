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
interface Cost {
  cost: number;
  currency: string;
}

/** Tokens of one or more calls of a model. */
export interface Figures {
  tokens_in: number | null;
  tokens_out: number | null;
  tokens_cached: number | null;
}

/** Usage of a turn beside the answer to its prompt. */
export interface TurnUsage {
  /** The session's cost, as the agent last reported it. */
  cost: Cost | null;
  /** Sum over the calls of a model that the agent reported one by one. */
  counted: Figures | null;
  /** Whether the answer has the tokens of the last of several calls alone, so that those of the turn are not known. */
  isPart: boolean;
  /** Whether the agent calls its model besides, and does not count that. */
  callsBesides: boolean;
}

/**
 * Returns the tokens that a turn took, and the last cost that was told; null where the agent does not say. It may say so
 * in the protocol's own place, in `_meta.quota`, or with each call of its model.
 */
export function usageOf(answer: JsonFields, { cost, counted, isPart, callsBesides }: TurnUsage): AdapterEvent | null {
  const quota = fieldsOrNone(fieldsOrNone(answer["_meta"])["quota"]);
  const own = fieldsOf(answer["usage"]);
  const rows = objectsOf(quota["model_usage"]);
  const models = rows.flatMap(({ model }) => textOf(model) ?? []);
  const [model] = models.length === 1 ? models : [];
  const main = own ? figuresOf(own) : quotaFigures(fieldsOrNone(quota["token_count"]));
  // Those of the models count sub-agents as well.
  const all = rows.map((row) => quotaFigures(fieldsOrNone(row["token_count"]))).reduce(added, none);
  const told = totalOf(all) > totalOf(main) ? all : main;
  // Agents say 0 of turns that they did not count.
  const figures = [told, counted].find((one) => one?.tokens_in || one?.tokens_out);
  if (!figures || (isPart && figures === told)) return null;
  return {
    type: "usage",
    scope: "session",
    ...figures,
    ...(cost ?? { cost: null }),
    ...(model === undefined ? {} : { model }),
    ...(callsBesides ? { partial: true } : {}),
  };
}

/** Adds the tokens that a chunk reports in its `_meta`, those of one call of a model. */
export function addChunkUsage(before: Figures | null, { _meta }: JsonFields): Figures | null {
  const usage = fieldsOf(fieldsOrNone(_meta)["usage"]);
  if (!usage) return before;
  return added(before ?? none, figuresOf(usage));
}

const none: Figures = { tokens_in: null, tokens_out: null, tokens_cached: null };

function added(a: Figures, b: Figures): Figures {
  return {
    tokens_in: sum(a.tokens_in, b.tokens_in),
    tokens_out: sum(a.tokens_out, b.tokens_out),
    tokens_cached: sum(a.tokens_cached, b.tokens_cached),
  };
}

function totalOf({ tokens_in, tokens_out }: Figures): number {
  return sum(tokens_in, tokens_out) ?? 0;
}

/**
 * Returns the session's cost from a `usage_update`, or null. Agents report 0 for models whose price they do not know, so 0
 * counts as unknown.
 */
function costOf({ cost }: JsonFields): Cost | null {
  const { amount, currency } = fieldsOrNone(cost);
  const spent = numberOf(amount);
  if (!spent || typeof currency !== "string" || !/^[a-z]{3}$/i.test(currency)) return null;
  return { cost: rounded(spent), currency: currency.toUpperCase() };
}

/** To a thousandth of a millionth: sums show how floating point adds. */
function rounded(amount: number): number {
  return Math.round(amount * 1e9) / 1e9;
}

/**
 * The cost of a turn. Agents tell that of their whole session, earlier turns with it, so what was told before the turn is
 * subtracted; in a session that is continued and told nothing, the cost of its first turn is not known.
 */
export class SessionCost {
  #before: Cost | null = null;
  #told: Cost | null = null;
  #isResumed = false;

  /** Begins the turn; call it when the one before is over: what is told in between is this one's. */
  begin({ isResumed }: { isResumed: boolean }): void {
    this.#before = this.#told ?? this.#before;
    this.#told = null;
    this.#isResumed = isResumed;
  }

  /** Takes a `usage_update`; the last one that tells a cost counts. */
  take(update: JsonFields): void {
    this.#told = costOf(update) ?? this.#told;
  }

  /** Returns what the turn cost so far; null where that is not known. */
  get spent(): Cost | null {
    const [before, told] = [this.#before, this.#told];
    if (!told || !this.#isResumed) return told;
    if (!before || before.currency !== told.currency || before.cost > told.cost) return null;
    return { ...told, cost: rounded(told.cost - before.cost) };
  }
}

/** A `usage_update` as an event: what the turn has cost, or how full the context is; null where it says neither. */
export function usageUpdate(update: JsonFields, spent: Cost | null = costOf(update)): AdapterEvent | null {
  const cost = costOf(update) && spent;
  if (cost) return { type: "usage", scope: "session", ...none, ...cost };
  const [tokens, room] = [countOf(update["used"]), countOf(update["size"])];
  return tokens === null
    ? null
    : { type: "progress", message: `The context holds ${tokens} of ${room ?? "?"} tokens.` };
}

/** Reads counts in the protocol's form. Agents count a cache and thoughts apart or within; the total tells which. */
function figuresOf(usage: JsonFields): Figures {
  const count = (name: string) => countOf(usage[name]);
  const [input, output, total] = [count("inputTokens"), count("outputTokens"), count("totalTokens")];
  const withCache = sum(input, sum(count("cachedReadTokens"), count("cachedWriteTokens")));
  const withThoughts = sum(output, count("thoughtTokens"));
  const ways = [[withCache, withThoughts], [input, withThoughts], [withCache, output], [input, output]] as const;
  const [tokens_in, tokens_out] = ways.find(([a, b]) => sum(a, b) === total) ?? ways[total === null ? 0 : 1];
  return { tokens_in, tokens_out, tokens_cached: count("cachedReadTokens") };
}

function quotaFigures(counts: JsonFields): Figures {
  if (countOf(counts["totalTokens"]) !== null) {
    return figuresOf({ ...counts, cachedReadTokens: counts["cachedInputTokens"] });
  }
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
