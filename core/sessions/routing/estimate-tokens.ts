/**
 * How many tokens texts take, about: one for four bytes of UTF-8, which is near for prose and a little low for code.
 * Good enough to see that a prompt cannot fit, not to say that it does.
 */
export function estimateTokens(...texts: readonly (string | undefined)[]): number {
  const encoder = new TextEncoder();
  return texts.reduce((sum, text) => sum + Math.ceil(encoder.encode(text ?? "").length / 4), 0);
}
