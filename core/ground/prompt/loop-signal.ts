/**
 * Whether an agent's final text holds the signal of completion, alone on a line. An agent that echoes its prompt has
 * not said anything: where a prompt that was sent holds such a line itself, the echo is taken out and the signal counts
 * only as the last line.
 */
export function saysComplete(
  text: string,
  { signal, sent }: { signal: string; sent: readonly string[] },
): boolean {
  const ambiguous = sent.filter((prompt) => lines(prompt).includes(signal));
  if (ambiguous.length === 0) return lines(text).includes(signal);
  return lines(ambiguous.reduce(withoutEcho, text)).at(-1) === signal;
}

function withoutEcho(text: string, prompt: string): string {
  return unifyEnds(text).split(unifyEnds(prompt).trim()).join("\n");
}

/** Lines that are not blank, without the blanks around them. */
function lines(text: string): string[] {
  return unifyEnds(text).split("\n").map((line) => line.trim()).filter((line) => line !== "");
}

function unifyEnds(text: string): string {
  return text.replaceAll("\r\n", "\n");
}
