import { countOf, fieldsOrNone, type JsonFields, stringOf } from "bulkhead/plugin-sdk";

/** Tokens of model calls. */
interface Tokens {
  in: number;
  out: number;
  cached: number;
}

/** Tells what a session used: Codex's figures are of all turns of a thread, those of earlier sessions included. */
export class TokenCounter {
  /** Totals of each thread by its last report. */
  readonly #known = new Map<string, Tokens>();

  /**
   * Returns the tokens that came since the thread's last report; null for none.
   * @param report a report of Codex
   * @param isEarlier whether it is of a turn before this session
   */
  take(report: JsonFields, isEarlier: boolean): Tokens | null {
    const thread = stringOf(report["threadId"]) ?? "";
    const { total, last } = fieldsOrNone(report["tokenUsage"]);
    const now = tokensOf(total);
    const before = this.#known.get(thread) ?? (isEarlier ? now : less(now, tokensOf(last)));
    this.#known.set(thread, now);
    const fresh = less(now, before);
    return isEarlier || (fresh.in === 0 && fresh.out === 0) ? null : fresh;
  }
}

function tokensOf(figures: unknown): Tokens {
  const { inputTokens, outputTokens, cachedInputTokens } = fieldsOrNone(figures);
  return { in: countOf(inputTokens) ?? 0, out: countOf(outputTokens) ?? 0, cached: countOf(cachedInputTokens) ?? 0 };
}

/** No figure falls below zero: a thread that was made shorter counts from its beginning. */
function less(a: Tokens, b: Tokens): Tokens {
  const rest = (of: keyof Tokens) => Math.max(0, a[of] - b[of]);
  return { in: rest("in"), out: rest("out"), cached: rest("cached") };
}
