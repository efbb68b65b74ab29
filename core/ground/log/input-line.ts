import { isFields } from "../../../plugin-sdk/json-fields.ts";

/** Fields of a tool's input that a person looks for, the most telling first. */
const telling = ["command", "file_path", "path", "query", "url", "prompt", "description", "name"];

/** Characters of a line: a command may be megabytes long. */
const mostCharacters = 400;

/** Returns what a tool's input is about: its most telling field, with the pattern that it looks for before it. */
export function inputLine(input: unknown): string {
  if (!isFields(input)) return short(input);
  const pattern = input["pattern"] === undefined ? null : short(input["pattern"]);
  for (const name of telling) {
    const value = input[name];
    if (typeof value !== "string" && !Array.isArray(value)) continue;
    const text = Array.isArray(value) ? value.map(short).join(" ") : value;
    return (pattern === null ? text : `${pattern} in ${text}`).slice(0, mostCharacters);
  }
  return pattern ?? short(input);
}

function short(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "";
  return text.slice(0, mostCharacters);
}
