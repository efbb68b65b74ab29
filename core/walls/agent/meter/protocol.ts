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
  /** Takes one of these values; undefined for one that could not be read. */
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

/** Returns the sum of the parts that are told; null where the first is not, or one of the others cannot be. */
export function sumOf(first: unknown, ...others: readonly unknown[]): number | null {
  let sum = tokensIn(first);
  for (const other of others) {
    const more = other === undefined || other === null ? 0 : tokensIn(other);
    sum = sum === null || more === null ? null : sum + more;
  }
  return sum;
}

/** Returns the name of a model; null for none, and for one that is too long. */
export function modelIn(value: unknown): string | null {
  return typeof value === "string" && value !== "" && value.length <= 200 ? value : null;
}
