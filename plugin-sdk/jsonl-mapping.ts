import { BulkheadError } from "./errors.ts";
import { buildEvent, fieldsOfEvent, isMappable } from "./event-building.ts";
import type { AdapterEvent } from "./events.ts";
import { fieldsOf, type JsonFields, listOf, parseJson } from "./json-fields.ts";
import { jsonLineEvents } from "./json-line-events.ts";
import type { MappingRule } from "./manifest.ts";

/**
 * Turns one line of JSON into events: each rule whose conditions all hold yields one, in the order of the rules. A line
 * that matches no rule or whose fields do not make the event becomes `unparsed`, and so does a part of an object; any
 * other line that is not JSON becomes `output`. It never throws, even for a malformed line.
 */
export function mapJsonLine(line: string, rules: readonly MappingRule[]): AdapterEvent[] {
  const data = parseJson(line);
  return data === undefined ? jsonLineEvents(line, () => null) : mapJson(data, rules);
}

/** Does the same as {@link mapJsonLine} for a line that is parsed already. */
export function mapJson(data: unknown, rules: readonly MappingRule[]): AdapterEvent[] {
  const events: AdapterEvent[] = [];
  const known = new Map<string, Set<number>>();
  for (const rule of rules) {
    const list = listIn(rule);
    const indexes = list === null ? [null] : listOf(readPath(data, list)).keys();
    for (const at of indexes) {
      const event = ruleMatches(rule, data, at) ? buildEvent(fillIn(rule.event, data, at)) : null;
      if (event) events.push(event);
      if (list === null || at === null) continue;
      const taken = known.get(list) ?? new Set();
      known.set(list, event ? taken.add(at) : taken);
    }
  }
  if (events.length === 0) return [{ type: "unparsed", data }];
  // If a rule reads a list entry by entry, keep the entries that no rule took.
  for (const [list, taken] of known) {
    const left = listOf(readPath(data, list)).filter((_entry, at) => !taken.has(at));
    events.push(...left.map((entry): AdapterEvent => ({ type: "unparsed", data: entry })));
  }
  return events;
}

/** Returns the path of the list whose entries a rule's conditions read: `a.b` for `a.b.*.c`. */
function listIn({ when }: MappingRule): string | null {
  const path = Object.keys(when).find((one) => one.includes(".*"));
  return path === undefined ? null : path.slice(0, path.indexOf(".*"));
}

/**
 * Checks rules before they are used.
 * @throws {BulkheadError} `invalid_manifest` for a rule whose event cannot come from a mapping, has a field that events
 * of its type do not have, or lacks one that they must have; `details.rule` is its index, `details.field` the field
 */
export function checkMappingRules(rules: readonly MappingRule[]): void {
  for (const [rule, { event }] of rules.entries()) {
    const type = Object.hasOwn(event, "type") ? event["type"] : undefined;
    if (!isMappable(type)) {
      throw unusable(rule, `its event has the type ${JSON.stringify(type) ?? "undefined"}`, {
        hint: "Write an event's type literally. Requests to a person need an adapter with code, " +
          "because this tool could not hear the answer.",
      });
    }
    const { known, required } = fieldsOfEvent(type);
    const hint = `Fields of "${type}" are ${known.join(", ")}.`;
    for (const field of Object.keys(event)) {
      if (field === "type" || known.includes(field)) continue;
      throw unusable(rule, `"${type}" has no field "${field}"`, { hint, field });
    }
    const lacking = required.find((field) => !Object.hasOwn(event, field));
    if (lacking !== undefined) throw unusable(rule, `"${type}" needs the field "${lacking}"`, { hint });
    const stray = strayList(rules[rule]!);
    if (stray !== undefined) {
      throw unusable(rule, `no condition of it names the entries of "${stray}"`, {
        hint: `A rule is about the entries of one list: write a condition such as "${stray}.*.type" under "when".`,
      });
    }
  }
}

/** Returns a list that a rule reads entry by entry, other than the one of its first condition with `*`. */
function strayList(rule: MappingRule): string | undefined {
  const list = listIn(rule);
  const paths = [
    ...Object.keys(rule.when),
    ...textsIn(rule.event).filter((text) => text.startsWith("$.")).map((text) => text.slice(2)),
  ];
  return paths.flatMap((path) => (path.includes(".*") ? path.slice(0, path.indexOf(".*")) : [])).find((one) =>
    one !== list
  );
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

function unusable(rule: number, why: string, { hint, field }: { hint: string; field?: string }): BulkheadError {
  return new BulkheadError("invalid_manifest", `Cannot use output rule ${rule + 1}: ${why}.`, {
    hint,
    details: { rule, ...(field === undefined ? {} : { field }) },
  });
}

/** Returns the value at a path such as `a.b.0.c`; undefined when the path leads nowhere. Ignores inherited members. */
export function readPath(data: unknown, path: string): unknown {
  return read(data, path, null);
}

/** Does the same as {@link readPath}; `*` in the path stands for an index. */
function read(data: unknown, path: string, at: number | null): unknown {
  let value = data;
  for (const part of path.split(".")) {
    const key = part === "*" && at !== null ? String(at) : part;
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    // `length` is an array's own property, but no JSON field.
    if (Array.isArray(value) && key === "length") return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

function ruleMatches(rule: MappingRule, data: unknown, at: number | null): boolean {
  return Object.entries(rule.when).every(([path, wanted]) => {
    const found = read(data, path, at);
    return wanted === "*" ? found !== undefined : found === wanted;
  });
}

function fillIn(template: Readonly<Record<string, unknown>>, data: unknown, at: number | null): JsonFields {
  const entries = Object.entries(template).map(([key, value]) => [key, fillInValue(value, data, at)] as const);
  // fromEntries() defines properties, so a key such as `__proto__` is safe.
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function fillInValue(value: unknown, data: unknown, at: number | null): unknown {
  if (typeof value === "string") {
    if (value.startsWith("$.")) return read(data, value.slice(2), at);
    return value.startsWith("$$") ? value.slice(1) : value;
  }
  if (Array.isArray(value)) return value.map((item) => fillInValue(item, data, at) ?? null);
  const fields = fieldsOf(value);
  return fields ? fillIn(fields, data, at) : value;
}
