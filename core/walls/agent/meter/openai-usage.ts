import { type AnswerFacts, takeFigures, tokensIn } from "./protocol.ts";

/** Takes the figures that both of OpenAI's protocols tell, under names of their own. Cached input is a part of the input. */
export function readOpenaiUsage(
  facts: AnswerFacts,
  { input, output, cached }: { input: unknown; output: unknown; cached: unknown },
): void {
  const told = { tokens_in: tokensIn(input), tokens_out: tokensIn(output), tokens_cached: tokensIn(cached ?? 0) };
  takeFigures(facts, told, { isFinal: true });
}
