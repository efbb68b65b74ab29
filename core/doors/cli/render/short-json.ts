// Input fields that say what a tool call is about, under the names that tools use.
const telling = ["command", "file_path", "path", "file", "url", "query", "pattern", "name", "description"];

/** Shortens a tool's input to a few words: its most telling value, else its fields, else the value itself. */
export function shortInput(input: unknown): string {
  if (!isRecord(input)) return shortJson(input);
  for (const key of telling) {
    const value = input[key];
    if (typeof value === "string" && value !== "") return value;
  }
  return Object.entries(input).map(([key, value]) => `${key}=${shortJson(value)}`).join(" ");
}

/** Formats any JSON value on one line of at most 400 characters; a string stands for itself. */
export function shortJson(value: unknown): string {
  if (typeof value === "string") return value.slice(0, 400);
  if (value === null || value === undefined) return "";
  return (JSON.stringify(value) ?? "").slice(0, 400);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
