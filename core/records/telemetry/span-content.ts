/** Characters of one text that are sent. */
const mostText = 32_768;

/** Returns what a tool got or gave, as the conventions write it: JSON. Long data ends early. */
export function contentOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return cut(typeof value === "string" ? value : JSON.stringify(value));
}

/** Returns one message, as the conventions write it; undefined for no text. */
export function messagesOf(role: "user" | "assistant", text: string | undefined): string | undefined {
  if (text === undefined || text === "") return undefined;
  const finish = role === "assistant" ? { finish_reason: "stop" } : {};
  return JSON.stringify([{ role, parts: [{ type: "text", content: cut(text) }], ...finish }]);
}

function cut(text: string): string {
  return text.length <= mostText ? text : `${text.slice(0, mostText).toWellFormed()}…`;
}
