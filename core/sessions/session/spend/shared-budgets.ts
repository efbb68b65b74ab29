import type { Follows } from "../../../../plugin-sdk/envelope.ts";
import type { SessionRequest } from "../../../../plugin-sdk/request.ts";
import type { UsageReport } from "../../../../plugin-sdk/result.ts";
import { roundMoney } from "./priced-usage.ts";

/** Cost and tokens that a budget counts; what is not known counts as nothing. */
export interface Sums {
  cost: number;
  tokens: number;
}

/** Cost and tokens of a session; null where they are not known. */
export interface KnownUse {
  cost: number | null;
  tokens: number | null;
}

/** The budget of one session, as far as others draw on it too. */
export interface BudgetShare {
  /** The session runs from now on. */
  begin(): void;
  /** Counts what the session has used so far. */
  count(used: KnownUse): void;
  /** Returns what others have used since the session's own budget was what was left. */
  others(): Sums;
  /** Ends it. Called once the session's usage is in the journal. */
  close(): void;
}

/** Use of one budget by all sessions that draw on it, as long as one of them runs. */
interface Pot {
  sums: Sums;
  shares: number;
}

/** Budgets that conversations share with their forks, by the session for which each of them was set. */
export class SharedBudgets {
  readonly #pots = new Map<string, Pot>();

  /** Prepares to count a session; null for one without such a budget. */
  open(
    { sessionId, request, follows }: { sessionId: string; request: SessionRequest; follows: Follows | null },
  ): BudgetShare | null {
    if (!hasCeiling(request) || request.replay_of !== undefined) return null;
    const { of, ...before } = follows?.budget ?? { of: sessionId, ...nothing };
    const pots = this.#pots;
    let pot: Pot = { sums: before, shares: 0 };
    let own = nothing;
    return {
      begin() {
        pot = pots.get(of) ?? pot;
        pot.shares++;
        pots.set(of, pot);
      },
      count(used) {
        const now = most(own, { cost: used.cost ?? 0, tokens: used.tokens ?? 0 });
        pot.sums = plus(pot.sums, minus(now, own));
        own = now;
      },
      others: () => minus(minus(pot.sums, before), own),
      close: () => {
        if (--pot.shares === 0) pots.delete(of);
      },
    };
  }

  /** Returns what was used of a budget; null while no session runs that draws on it. */
  used(of: string): Sums | null {
    return this.#pots.get(of)?.sums ?? null;
  }
}

/** Whether a request names a budget of cost or of tokens. */
export function hasCeiling({ budget }: Pick<SessionRequest, "budget">): boolean {
  return budget?.cost !== undefined || budget?.tokens !== undefined;
}

/** No use at all. */
export const nothing: Sums = { cost: 0, tokens: 0 };

/** Adds up. */
export function plus(one: Sums, other: Sums): Sums {
  return { cost: roundMoney(one.cost + other.cost), tokens: one.tokens + other.tokens };
}

/** The difference, where it is more than nothing. */
export function minus(one: Sums, other: Sums): Sums {
  return {
    cost: Math.max(0, roundMoney(one.cost - other.cost)),
    tokens: Math.max(0, one.tokens - other.tokens),
  };
}

/** The larger one of each. */
export function most(one: Sums, other: Sums): Sums {
  return { cost: Math.max(one.cost, other.cost), tokens: Math.max(one.tokens, other.tokens) };
}

/** Returns what a session used at least: by its own figures, or by the calls that the host saw. */
export function knownUse(
  { cost, tokens_in, tokens_out, tokens_used, wire }: Pick<
    UsageReport,
    "cost" | "tokens_in" | "tokens_out" | "tokens_used" | "wire"
  >,
): KnownUse {
  const told = tokens_in === null && tokens_out === null ? tokens_used ?? null : (tokens_in ?? 0) + (tokens_out ?? 0);
  if (wire === undefined) return { cost, tokens: told };
  const seen = wire.counted ?? { cost: wire.cost, tokens: wire.tokens_in + wire.tokens_out };
  return {
    cost: cost === null ? seen.cost : Math.max(cost, seen.cost ?? 0),
    tokens: Math.max(told ?? 0, seen.tokens),
  };
}
