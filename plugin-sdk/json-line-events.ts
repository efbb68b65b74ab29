import type { AdapterEvent, UnparsedEvent } from "./events.ts";
import { fieldsOf, type JsonFields, parseJsonLine, withoutControls } from "./json-fields.ts";

/**
 * Turns a line of a program that prints one JSON object per line into events. A line that is not JSON is printed
 * output, unless it begins like an object: then it was cut, and is not text of the agent.
 * @param eventsOf returns the events of an object, or null for an unknown one, which is kept as `unparsed`
 */
export function jsonLineEvents(line: string, eventsOf: (fields: JsonFields) => AdapterEvent[] | null): AdapterEvent[] {
  if (line.trim() === "") return [];
  const data = parseJsonLine(line);
  if (data === undefined) {
    return withoutControls(line).startsWith("{")
      ? [{ type: "unparsed", data: line }]
      : [{ type: "output", stream: "stdout", data: `${line}\n` }];
  }
  const fields = fieldsOf(data);
  return (fields && eventsOf(fields)) ?? [{ type: "unparsed", data }];
}

/** Makes the event for a line of which only the beginning is kept, because it is too long. */
export function tooLargeLine(beginning: string): UnparsedEvent {
  return { type: "unparsed", data: { code: "too_large", beginning: `${beginning}…` } };
}

/** Returns true for an unfinished line that can be no beginning of a message in JSON: words, such as a question. */
export function isWords(text: string): boolean {
  const plain = withoutControls(text);
  // An escape that is left has not come to its end.
  return /\p{L}/u.test(plain) && !plain.startsWith("\u001b") && !/\{|^"|^\[\s*["[\d-]/.test(plain);
}
