import {
  fieldsOf,
  type JsonFields,
  numberOf,
  SessionCounter,
  textOf,
  type UsageCounts,
  type UsageEvent,
} from "bulkhead/plugin-sdk";

/** Usage of one answer of the model: its counts arrive several times, each as of then, and are reported once. */
export class TurnCounts {
  #model: string | undefined;
  #counts: JsonFields = {};
  #told = true;

  /** Begins an answer; returns the counts of one before that never ended. */
  begin(message: JsonFields): UsageEvent[] {
    const before = this.take();
    this.#model = textOf(message["model"]);
    this.#counts = fieldsOf(message["usage"]) ?? {};
    return before;
  }

  /** Later counts replace the earlier ones; null says nothing. */
  add(counts: JsonFields | null): void {
    if (!counts) return;
    const known = Object.entries(counts).filter(([, value]) => value !== null);
    this.#counts = { ...this.#counts, ...Object.fromEntries(known) };
    this.#told = false;
  }

  /** The counts, once. Input counts what was read from and written to the cache as well. */
  take(): UsageEvent[] {
    if (this.#told) return [];
    this.#told = true;
    const counts = this.#counts;
    return [{
      type: "usage",
      scope: "turn",
      tokens_in: sum([
        counts["input_tokens"],
        counts["cache_read_input_tokens"],
        counts["cache_creation_input_tokens"],
      ]),
      tokens_out: numberOf(counts["output_tokens"]),
      tokens_cached: numberOf(counts["cache_read_input_tokens"]),
      cost: null,
      ...(this.#model === undefined ? {} : { model: this.#model }),
    }];
  }
}

/**
 * Counts the usage of a turn over all its models and results. The program's totals include the turns of a session that is
 * continued, so the part since the result before counts where it is told; where it is not, such a total says nothing.
 */
export class SessionCounts {
  readonly #resumed: boolean;
  readonly #counter = new SessionCounter();

  constructor({ resumed }: { resumed: boolean }) {
    this.#resumed = resumed;
  }

  /** Begins a turn. */
  beginTurn(): void {
    this.#counter.beginTurn();
  }

  /** Takes a result, and returns the turn's usage up to it. */
  take(result: JsonFields): UsageEvent {
    const since = fieldsOf(result["model_usage_since_last_result"]);
    const added = since ?? fieldsOf(result["modelUsage"]) ?? {};
    const models = Object.entries(added).flatMap(([name, usage]) => {
      const fields = fieldsOf(usage);
      return fields ? [{ name, fields }] : [];
    });
    const all = (...keys: string[]) => sum(models.flatMap(({ fields }) => keys.map((key) => fields[key])));
    const told: UsageCounts = {
      tokens_in: all("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"),
      tokens_out: all("outputTokens"),
      tokens_cached: all("cacheReadInputTokens"),
      cost: models.length === 0 ? numberOf(result["total_cost_usd"]) : all("costUSD"),
    };
    if (since !== null && models.length > 0) this.#counter.add(told);
    else if (!this.#resumed) this.#counter.take(told);
    const { turn } = this.#counter;
    const model = models.length === 1 ? textOf(models[0]?.name) : undefined;
    return {
      type: "usage",
      scope: "session",
      ...turn,
      cost: money(turn.cost),
      currency: "USD",
      ...(model === undefined ? {} : { model }),
    };
  }
}

/** To a thousandth of a millionth: sums of the program's own show how floating point adds. */
function money(amount: number | null): number | null {
  return amount === null ? null : Math.round(amount * 1e9) / 1e9;
}

/** Adds the known values; null when none is known. */
function sum(values: readonly unknown[]): number | null {
  const known = values.map(numberOf).filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((total, value) => total + value, 0);
}
