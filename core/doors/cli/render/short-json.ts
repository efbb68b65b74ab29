// Field names by which tools call the subject of a call.
const telling = ["command", "file_path", "path", "file", "url", "query", "pattern", "name", "description"];

/** A tool's input in a few words: the one value that tells most, else its fields, else the value itself. */
export function shortInput(input: unknown): string {
  if (!isRecord(input)) return shortJson(input);
  for (const key of telling) {
    const value = input[key];
    if (typeof value === "string" && value !== "") return value;
  }
  return Object.entries(input).map(([key, value]) => `${key}=${shortJson(value)}`).join(" ");
}

/** Any JSON value on one line, at most 400 characters of it; a string stands for itself. */
export function shortJson(value: unknown): string {
  if (typeof value === "string") return value.slice(0, 400);
  if (value === null || value === undefined) return "";
  return (JSON.stringify(value) ?? "").slice(0, 400);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
