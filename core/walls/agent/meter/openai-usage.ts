import { type AnswerFacts, tokensIn } from "./protocol.ts";

/** Takes the figures that both of OpenAI's protocols tell, under names of their own. Cached input is a part of the input. */
export function readOpenaiUsage(
  facts: AnswerFacts,
  { input, output, cached }: { input: unknown; output: unknown; cached: unknown },
): void {
  facts.tokens_in = tokensIn(input);
  facts.tokens_out = tokensIn(output);
  facts.tokens_cached = tokensIn(cached ?? 0);
  facts.isFinal = true;
}
