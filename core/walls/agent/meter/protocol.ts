/** Tokens of one call of a model; null where its answer did not tell them, or told what cannot be. */
export interface CallTokens {
  /** Those from the cache included. */
  tokens_in: number | null;
  tokens_out: number | null;
  tokens_cached: number | null;
}

/** The facts that one answer tells, as far as it has come. */
export interface AnswerFacts extends CallTokens {
  model: string | null;
  /** The largest number that each part of a figure had, by its name. */
  parts: Map<string, number>;
  /** Whether these are the figures of the whole answer: some protocols tell the input first. */
  isFinal: boolean;
  /** Milliseconds after which a refused call may be made again. */
  retryMs: number | null;
}

/** One protocol of models, as far as its figures go. Its answers are JSON texts, alone or as server-sent events. */
export interface MeteredProtocol {
  name: "anthropic_messages" | "openai_responses" | "openai_chat" | "gemini_content";
  /** Whether a call of a model goes to this path, which is plain: see `callKind`. */
  takes(path: string): boolean;
  /** Stands in each event that tells figures. It begins with a rare letter, which is found faster: `tokens"` from its `k` on. */
  telling: string;
  /** Paths of the values that tell something; see `JsonScan`. */
  wanted: readonly string[];
  /** Takes one of these values but the model; undefined for one that could not be read. */
  read(facts: AnswerFacts, path: string, value: unknown): void;
  /** The body of an answer by which a program ends its work, and tells these words. */
  refusal(message: string): unknown;
}

/** Most tokens that one call can have: what tells more tells nothing. */
const mostTokens = 1e9;

/** Returns a number of tokens; null for anything else. */
export function tokensIn(value: unknown): number | null {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= mostTokens ? Number(value) : null;
}

/**
 * Returns the sum of the parts of a figure, each of them the largest that this answer told; null where the first was never told,
 * or one now cannot be.
 */
export function sumOf(
  facts: AnswerFacts,
  told: Readonly<Record<string, unknown>>,
  [first, ...others]: readonly [string, ...string[]],
): number | null {
  let sum = 0;
  for (const name of [first, ...others]) {
    const value = told[name] ?? null;
    const tokens = value === null ? 0 : tokensIn(value);
    if (tokens === null) return null;
    if (value !== null) facts.parts.set(name, Math.max(tokens, facts.parts.get(name) ?? 0));
    sum += facts.parts.get(name) ?? 0;
  }
  return facts.parts.has(first) ? sum : null;
}

/**
 * Takes the figures of one event: those of one answer only grow.
 * @param told null for a figure that cannot be: then what is known is not final
 */
export function takeFigures(facts: AnswerFacts, told: Partial<CallTokens>, { isFinal }: { isFinal: boolean }): void {
  for (const name of ["tokens_in", "tokens_out", "tokens_cached"] as const) {
    const tokens = told[name] ?? null;
    if (tokens !== null) facts[name] = Math.max(tokens, facts[name] ?? 0);
  }
  facts.isFinal = isFinal && told.tokens_in !== null && told.tokens_out !== null;
}

/** Returns the name of a model; null for none, and for one that is too long. */
export function modelIn(value: unknown): string | null {
  return typeof value === "string" && value !== "" && value.length <= 200 ? value : null;
}
