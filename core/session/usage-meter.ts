import type { CompletedEvent, UsageEvent } from "../../plugin-sdk/events.ts";
import type { UsageReport } from "../../plugin-sdk/result.ts";

/** Adds up what a session used, from what the agent reports. What nobody reports stays null. */
export class UsageMeter {
  #whole: UsageEvent | null = null;
  #turns: Totals = { tokens_in: null, tokens_out: null, tokens_cached: null, cost: null };
  #turnCount = 0;
  #currency: string | null = null;
  #model: string | null = null;
  #final: CompletedEvent | null = null;

  /** A report of a turn adds to the others; one of the session replaces the one before. */
  take(event: UsageEvent): void {
    this.#currency = event.currency ?? this.#currency;
    this.#model = event.model ?? this.#model;
    if (event.scope === "session") {
      this.#whole = event;
      return;
    }
    this.#turnCount++;
    this.#turns = {
      tokens_in: add(this.#turns.tokens_in, event.tokens_in),
      tokens_out: add(this.#turns.tokens_out, event.tokens_out),
      tokens_cached: add(this.#turns.tokens_cached, event.tokens_cached),
      cost: add(this.#turns.cost, event.cost),
    };
  }

  /** The agent's last word may bring a cost. */
  complete(event: CompletedEvent): void {
    this.#final = event;
  }

  /** The model the agent says it used. */
  model(name: string | undefined): void {
    this.#model = name ?? this.#model;
  }

  /** Cost so far, or null while unknown. */
  get cost(): number | null {
    return this.#whole?.cost ?? this.#turns.cost ?? this.#final?.cost ?? null;
  }

  /** Tokens in and out so far, or null while unknown. */
  get tokens(): number | null {
    const from = this.#whole ?? this.#turns;
    return add(from.tokens_in, from.tokens_out) ?? this.#final?.tokens_used ?? null;
  }

  get turns(): number {
    return this.#turnCount;
  }

  /** The report as it stands. */
  report(durationMs: number): UsageReport {
    const from: Totals = this.#whole ?? this.#turns;
    const { cost } = this;
    const known = cost !== null || this.tokens !== null;
    return {
      tokens_in: from.tokens_in,
      tokens_out: from.tokens_out,
      tokens_cached: from.tokens_cached,
      cost,
      currency: cost === null ? null : this.#currency ?? "USD",
      model: this.#model,
      duration_ms: durationMs,
      basis: known ? "reported" : "unknown",
    };
  }
}

interface Totals {
  tokens_in: number | null;
  tokens_out: number | null;
  tokens_cached: number | null;
  cost: number | null;
}

function add(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : a + b;
}
