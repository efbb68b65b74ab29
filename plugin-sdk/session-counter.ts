import type { UsageEvent } from "./events.ts";

/** Tokens and cost; null: unknown. */
export type UsageCounts = Pick<UsageEvent, "tokens_in" | "tokens_out" | "tokens_cached" | "cost">;

const unknown: UsageCounts = { tokens_in: null, tokens_out: null, tokens_cached: null, cost: null };

/** Reads the usage of each turn out of the figures that an agent adds up over its whole session. */
export class SessionCounter {
  #all: UsageCounts = unknown;
  #before: UsageCounts = unknown;

  /** Begins a turn: what is known counts as used before it. */
  beginTurn(): void {
    this.#before = this.#all;
  }

  /** Takes the figures of the session so far. Null takes nothing away. */
  take(all: UsageCounts): void {
    this.#all = each((name) => all[name] ?? this.#all[name]);
  }

  /** Adds figures of a part of the session. */
  add(part: UsageCounts): void {
    this.#all = each((name) => sum(this.#all[name], part[name]));
  }

  /** Returns the usage of the turn so far. */
  get turn(): UsageCounts {
    return each((name) => {
      const all = this.#all[name];
      const used = all === null ? null : all - (this.#before[name] ?? 0);
      // The agent counts from zero again, as after a restart.
      return used !== null && used < 0 ? all : used;
    });
  }
}

function each(figure: (name: keyof UsageCounts) => number | null): UsageCounts {
  return {
    tokens_in: figure("tokens_in"),
    tokens_out: figure("tokens_out"),
    tokens_cached: figure("tokens_cached"),
    cost: figure("cost"),
  };
}

function sum(one: number | null, other: number | null): number | null {
  return one === null ? other : one + (other ?? 0);
}
