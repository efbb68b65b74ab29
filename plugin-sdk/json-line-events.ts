import type { AdapterEvent } from "./events.ts";
import { fieldsOf, type JsonFields, parseJson } from "./json-fields.ts";

/**
 * Events of one line of a program that prints an object of JSON a line. A line that is not JSON is what some program
 * printed, unless it is the beginning of an object: that was cut, and is no text of the agent's.
 * @param eventsOf gives the events of an object, or null for one that it does not know, which is kept as `unparsed`
 */
export function jsonLineEvents(line: string, eventsOf: (fields: JsonFields) => AdapterEvent[] | null): AdapterEvent[] {
  if (line.trim() === "") return [];
  const data = parseJson(line);
  if (data === undefined) {
    return line.startsWith("{")
      ? [{ type: "unparsed", data: line }]
      : [{ type: "output", stream: "stdout", data: `${line}\n` }];
  }
  const fields = fieldsOf(data);
  return (fields && eventsOf(fields)) ?? [{ type: "unparsed", data }];
}
