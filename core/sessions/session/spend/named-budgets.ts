import type { BudgetReport } from "../../../../plugin-sdk/budget-report.ts";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { hasPrompt, type SessionRequest } from "../../../../plugin-sdk/request.ts";
import type { UsageReport } from "../../../../plugin-sdk/result.ts";
import { type BudgetSettings, covers } from "../../../ground/config/budget-settings.ts";
import { roundMoney } from "./priced-usage.ts";

/** Figures of one call or of several. An unknown cost is null. */
export interface Charge {
  cost: number | null;
  currency: string | null;
  tokens: number;
}

/** Figures of earlier calls of a session with these labels. */
export interface PastCharge extends Charge {
  labels: Record<string, string>;
}

/** A budget that leaves nothing for further calls. */
interface SpentNamed {
  name: string;
  reason: "budget_cost" | "budget_tokens";
  message: string;
  /** When it begins again; null: never. */
  until: string | null;
}

/** The operator's budgets as one session counts on them. */
export interface SessionAccount {
  /** Whether a budget covered the session when it began: those that came later count it too. */
  isCovered: boolean;
  charge(charge: Charge): void;
  /** Returns the first budget that is spent; null while all leave something. */
  spent(): SpentNamed | null;
  /** Counts what the session used at its end beyond its calls: what its agent alone has told. */
  settle(usage: Pick<UsageReport, "cost" | "currency" | "tokens_in" | "tokens_out" | "tokens_used">): void;
}

/** Sums of one coverage. */
interface Counter {
  labels: Record<string, string>;
  per: BudgetSettings["per"];
  /** When its day or month began; 0 for one without. Milliseconds since 1970. */
  since: number;
  cost: number;
  tokens: number;
  currency: string | null;
  unpriced: number;
}

interface NamedBudgetsDeps {
  /** The budgets in force, by name. */
  settings(): Readonly<Record<string, BudgetSettings>>;
  /** Whether they can be held here. */
  isHeld(): boolean;
  /** Returns, in parts, what was used between two times: what runs now counts by its calls until then. */
  past(span: { since: number; until: number }): AsyncIterable<readonly PastCharge[]>;
  /** Milliseconds since 1970. */
  now?: () => number;
}

/**
 * Counts what the sessions of the operator's budgets use: it is read from the journal once, and counted in memory from then on.
 * Each call counts in the day and the month of its end.
 */
export class NamedBudgets {
  readonly #deps: NamedBudgetsDeps;
  readonly #now: () => number;
  #counters = new Map<string, Counter>();
  #reading: Promise<void> = Promise.resolve();

  constructor(deps: NamedBudgetsDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? Date.now;
  }

  /** Returns the budgets that cover a session, by name. */
  covering({ labels, replay_of }: Pick<SessionRequest, "labels" | "replay_of">): [string, BudgetSettings][] {
    // A replay asks no model.
    if (replay_of !== undefined) return [];
    return Object.entries(this.#deps.settings()).filter(([, budget]) => covers(budget, labels));
  }

  /**
   * Begins to count for a session; null for a replay, which asks no model.
   * @throws {BulkheadError} `budget_exceeded` where one is spent and the session has something to do; `journal_error`
   */
  async open(request: SessionRequest): Promise<SessionAccount | null> {
    if (request.replay_of !== undefined) return null;
    const isCovered = this.covering(request).length > 0;
    if (isCovered) await this.#ready();
    const spent = this.#spent(request);
    if (spent !== null && hasPrompt(request)) throw spentError(spent);
    return this.#accountOf(request, isCovered);
  }

  /** Returns what each budget has left, the names in their order. */
  async report(): Promise<BudgetReport[]> {
    await this.#ready();
    return Object.entries(this.#deps.settings()).map(([name, budget]) => {
      const { since, cost, tokens, currency, unpriced } = this.#counterOf(budget);
      const { labels = {}, per = null } = budget;
      return {
        name,
        labels,
        per,
        since: per === null ? null : new Date(since).toISOString(),
        until: untilOf(budget.per, since),
        cost: budget.cost ?? null,
        tokens: budget.tokens ?? null,
        spent_cost: cost,
        spent_tokens: tokens,
        currency,
        unpriced,
        is_held: this.#deps.isHeld(),
      };
    });
  }

  #accountOf(request: SessionRequest, isCovered: boolean): SessionAccount {
    const { labels = {} } = request;
    let [cost, tokens] = [0, 0];
    const charge = (one: Charge) => {
      cost += one.cost ?? 0;
      tokens += one.tokens;
      for (const counter of this.#counters.values()) if (covers(counter, labels)) add(this.#roll(counter), one);
    };
    return {
      isCovered,
      charge,
      spent: () => isCovered || this.#deps.isHeld() ? this.#spent(request) : null,
      settle(usage) {
        const said = (usage.tokens_in ?? 0) + (usage.tokens_out ?? 0) || (usage.tokens_used ?? 0);
        const more = { cost: beyond(usage.cost ?? 0, cost), tokens: Math.max(0, said - tokens) };
        if (more.cost > 0 || more.tokens > 0) charge({ ...more, currency: usage.currency });
      },
    };
  }

  #spent(request: SessionRequest): SpentNamed | null {
    for (const [name, budget] of this.covering(request)) {
      const counter = this.#counterOf(budget);
      const reason = counter.cost >= (budget.cost ?? Infinity)
        ? "budget_cost"
        : counter.tokens >= (budget.tokens ?? Infinity)
        ? "budget_tokens"
        : null;
      if (reason === null) continue;
      const most = reason === "budget_cost" ? `${budget.cost}` : `${budget.tokens} tokens`;
      const message = `The budget "${name}" of ${most}${budget.per ? ` a ${budget.per}` : ""} is spent.`;
      return { name, reason, message, until: untilOf(budget.per, counter.since) };
    }
    return null;
  }

  /** Reads what was used before, for budgets that were not counted until now. */
  #ready(): Promise<void> {
    // One after the other: the next one finds what this one has read.
    return this.#reading = this.#reading.catch(() => {}).then(() => this.#read());
  }

  async #read(): Promise<void> {
    const wanted = new Map(Object.values(this.#deps.settings()).map((budget) => [keyOf(budget), budget]));
    for (const key of this.#counters.keys()) if (!wanted.has(key)) this.#counters.delete(key);
    const missing = [...wanted].filter(([key]) => !this.#counters.has(key));
    if (missing.length === 0) return;
    const until = this.#now();
    const made = missing.map(([key, budget]) => [key, newCounter(budget, until)] as const);
    // What is used while the journal is read counts already.
    for (const [key, counter] of made) this.#counters.set(key, counter);
    try {
      for (const since of new Set(made.map(([, counter]) => counter.since))) {
        const those = made.flatMap(([, counter]) => counter.since === since ? [counter] : []);
        for await (const page of this.#deps.past({ since, until })) {
          for (const one of page) {
            for (const counter of those) if (counter.since === since && covers(counter, one.labels)) add(counter, one);
          }
        }
      }
    } catch (error) {
      for (const [key] of made) this.#counters.delete(key);
      throw error;
    }
  }

  /** Returns the sums of a budget; nothing for one that came into force a moment ago, which is read now. */
  #counterOf(budget: BudgetSettings): Counter {
    const counter = this.#counters.get(keyOf(budget));
    if (counter === undefined) this.#ready().catch(() => {});
    return this.#roll(counter ?? newCounter(budget, this.#now()));
  }

  /** Begins another day or month. A clock that is set back begins none. */
  #roll(counter: Counter): Counter {
    const since = sinceOf(counter.per, this.#now());
    if (since <= counter.since) return counter;
    return Object.assign(counter, { since, cost: 0, tokens: 0, currency: null, unpriced: 0 });
  }
}

/** Returns how much more an amount is than what was counted of it. */
export function beyond(amount: number, counted: number): number {
  return Math.max(0, roundMoney(amount - counted));
}

function keyOf({ labels = {}, per }: BudgetSettings): string {
  return JSON.stringify([Object.entries(labels).sort(), per]);
}

function newCounter({ labels = {}, per }: BudgetSettings, now: number): Counter {
  return { labels, per, since: sinceOf(per, now), cost: 0, tokens: 0, currency: null, unpriced: 0 };
}

function add(counter: Counter, { cost, currency, tokens }: Charge): void {
  if (cost === null) counter.unpriced++;
  counter.cost = roundMoney(counter.cost + (cost ?? 0));
  counter.tokens += tokens;
  counter.currency = currency ?? counter.currency;
}

/** Returns when the day or month of a time began here. */
function sinceOf(per: BudgetSettings["per"], time: number): number {
  const now = new Date(time);
  if (per === undefined) return 0;
  return new Date(now.getFullYear(), now.getMonth(), per === "day" ? now.getDate() : 1).getTime();
}

function untilOf(per: BudgetSettings["per"], since: number): string | null {
  if (per === undefined) return null;
  const begun = new Date(since);
  const [year, month, day] = [begun.getFullYear(), begun.getMonth(), begun.getDate()];
  return (per === "day" ? new Date(year, month, day + 1) : new Date(year, month + 1, 1)).toISOString();
}

function spentError({ name, message, until }: SpentNamed): BulkheadError {
  const again = until === null ? "" : ` It begins again at ${until}.`;
  return new BulkheadError(
    "budget_exceeded",
    `Cannot start a session: ${message.charAt(0).toLowerCase()}${message.slice(1)}`,
    {
      hint: `Raise budgets.${name} in bulkhead.yaml and reload.${again}`,
      details: { budget: name, until },
    },
  );
}
