import type { UsageReport } from "../../../../../plugin-sdk/result.ts";

/** Figures of a session so far. */
export interface FiguresSoFar {
  /** Input and output together; null where none are told. */
  tokens: number | null;
  cost: number | null;
  currency: string | null;
  /** Whether it may have used more than is told. */
  isLeast: boolean;
}

interface TokensAndCost {
  tokens_in: number | null;
  tokens_out: number | null;
  cost: number | null;
  currency?: string | null;
}

/** Adds further figures. Nulls take nothing away. */
export function withFigures(
  before: FiguresSoFar | null,
  { tokens_in, tokens_out, cost, currency }: TokensAndCost,
  isLeast = false,
): FiguresSoFar {
  return {
    tokens: sum(before?.tokens ?? null, sum(tokens_in, tokens_out)),
    cost: sum(before?.cost ?? null, cost),
    currency: currency ?? before?.currency ?? null,
    isLeast: isLeast || before?.isLeast === true,
  };
}

/** Returns the figures of a session that has ended. */
export function figuresOf(usage: UsageReport): FiguresSoFar {
  const { tokens, ...figures } = withFigures(null, usage, usage.partial === true || (usage.wire?.unknown ?? 0) > 0);
  return { tokens: tokens ?? usage.tokens_used ?? null, ...figures };
}

function sum(a: number | null, b: number | null): number | null {
  return a === null ? b : a + (b ?? 0);
}
