/**
 * Estimates the tokens of texts: one for four bytes of UTF-8, which is close for prose and a little low for code. It
 * can show that a prompt does not fit, but not that it does.
 */
export function estimateTokens(...texts: readonly (string | undefined)[]): number {
  const encoder = new TextEncoder();
  return texts.reduce((sum, text) => sum + Math.ceil(encoder.encode(text ?? "").length / 4), 0);
}
