import { BulkheadError } from "./errors.ts";
import { buildEvent, isMappable } from "./event-building.ts";
import type { AdapterEvent } from "./events.ts";
import type { MappingRule } from "./manifest.ts";

/**
 * Turns one line of JSON into events: each rule whose conditions all hold gives one, in the order of the rules.
 * A line that no rule knows, or whose fields do not make the event, is `unparsed`; one that is not JSON is `output`.
 * It never throws, whatever the line holds.
 */
export function mapJsonLine(line: string, rules: readonly MappingRule[]): AdapterEvent[] {
  if (line.trim() === "") return [];
  let data: unknown;
  try {
    data = JSON.parse(line);
  } catch {
    return [{ type: "output", stream: "stdout", data: `${line}\n` }];
  }
  return mapJson(data, rules);
}

/** As {@link mapJsonLine}, for a line that is parsed already. */
export function mapJson(data: unknown, rules: readonly MappingRule[]): AdapterEvent[] {
  const events: AdapterEvent[] = [];
  for (const rule of rules) {
    if (!ruleMatches(rule, data)) continue;
    const event = buildEvent(fillIn(rule.event, data));
    if (event) events.push(event);
  }
  return events.length > 0 ? events : [{ type: "unparsed", data }];
}

/**
 * Checks rules before they are used.
 * @throws {BulkheadError} `invalid_manifest` for a rule whose event cannot come from a mapping
 */
export function checkMappingRules(rules: readonly MappingRule[]): void {
  for (const [index, rule] of rules.entries()) {
    const type = Object.hasOwn(rule.event, "type") ? rule.event["type"] : undefined;
    if (isMappable(type)) continue;
    throw new BulkheadError(
      "invalid_manifest",
      `Cannot use output rule ${index + 1}: its event has the type ${JSON.stringify(type) ?? "undefined"}.`,
      {
        hint: "Write the type of an event as it stands. Requests to a person need an adapter with code, " +
          "because this tool could not hear the answer.",
        details: { rule: index },
      },
    );
  }
}

/** What stands at a path such as `a.b.0.c`; undefined where it leads nowhere. Inherited members are not there. */
export function readPath(data: unknown, path: string): unknown {
  let value = data;
  for (const key of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    // `length` is an array's own, but no JSON field.
    if (Array.isArray(value) && key === "length") return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

function ruleMatches(rule: MappingRule, data: unknown): boolean {
  return Object.entries(rule.when).every(([path, wanted]) => {
    const found = readPath(data, path);
    return wanted === "*" ? found !== undefined : found === wanted;
  });
}

function fillIn(template: Readonly<Record<string, unknown>>, data: unknown): Record<string, unknown> {
  const entries = Object.entries(template).map(([key, value]) => [key, fillInValue(value, data)] as const);
  // fromEntries defines, so a key such as `__proto__` is an ordinary one.
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function fillInValue(value: unknown, data: unknown): unknown {
  if (typeof value === "string") {
    if (value.startsWith("$.")) return readPath(data, value.slice(2));
    return value.startsWith("$$") ? value.slice(1) : value;
  }
  if (Array.isArray(value)) return value.map((item) => fillInValue(item, data) ?? null);
  if (typeof value === "object" && value !== null) return fillIn(value as Record<string, unknown>, data);
  return value;
}
