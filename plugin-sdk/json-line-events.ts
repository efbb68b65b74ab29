import type { AdapterEvent } from "./events.ts";
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
