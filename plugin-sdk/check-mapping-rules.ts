import { BulkheadError } from "./errors.ts";
import { fieldsOfEvent, fitsField, isMappable, mappableTypes } from "./event-building.ts";
import { textsIn } from "./json-fields.ts";
import { entriesIn } from "./json-path.ts";
import { conditionsOf, conversions, patternOf, readReference } from "./jsonl-mapping.ts";
import type { MappingRule } from "./mapping-rule.ts";

/** Details of the error of {@link checkMappingRules}: what is wrong in which rule. */
export interface RuleFaultDetails extends Omit<RuleFault, "hint"> {
  /** Its index. */
  rule: number;
}

/** Something wrong in a rule. */
interface RuleFault {
  why: string;
  /** Path inside the rule. */
  at: string[];
  of?: "value" | "key";
  hint?: string;
  /** A word that is wrong, and those that could be meant. */
  unknown?: { word: string; known: readonly string[] };
}

/**
 * Checks rules before they are used.
 * @throws {BulkheadError} `invalid_manifest` for the first rule that cannot be used, with {@link RuleFaultDetails}
 */
export function checkMappingRules(rules: readonly MappingRule[]): void {
  for (const [index, rule] of rules.entries()) {
    const [fault] = faultsOf(rule, index === 0);
    if (!fault) continue;
    const { why, hint, ...where } = fault;
    throw new BulkheadError("invalid_manifest", `Cannot use output rule ${index + 1}: ${why}.`, {
      hint,
      details: { rule: index, why, ...where },
    });
  }
}

function* faultsOf(rule: MappingRule, isFirst: boolean): Generator<RuleFault> {
  yield* shapeFaults(rule, isFirst);
  yield* conditionFaults(rule);
  if (rule.event) yield* eventFaults(rule.event);
  yield* entryFaults(rule);
}

/** Checks which keys stand beside each other. */
function* shapeFaults(rule: MappingRule, isFirst: boolean): Generator<RuleFault> {
  const { when, event, ignore, once, whole, cumulative } = rule;
  if ((when === undefined) === (rule.else === undefined)) {
    const why = when ? 'it has both "when" and "else"' : 'it has neither "when" nor "else"';
    yield {
      why,
      at: [],
      hint: "Write else: instead of when: in a rule that counts only where those before it do not.",
    };
  }
  if (rule.else && isFirst) yield { why: 'no rule stands before its "else"', at: ["else"], of: "key" };
  if ((event === undefined) === (ignore === undefined)) {
    const why = event ? 'it has both "event" and "ignore"' : 'it has neither "event" nor "ignore"';
    yield { why, at: [], hint: "Write ignore: true instead of the event of a line that says nothing." };
  }
  if (once !== undefined && !(event && readReference(once))) {
    const why = event ? '"once" is no path in the line' : '"once" stands without an event';
    yield { why, at: ["once"], hint: "Write a path such as $.id." };
  }
  if (whole && event?.["type"] !== "output") yield { why: '"whole" is only for output', at: ["whole"], of: "key" };
  if (cumulative && event?.["type"] !== "usage") {
    yield { why: '"cumulative" is only for usage', at: ["cumulative"], of: "key" };
  }
}

function* conditionFaults(rule: MappingRule): Generator<RuleFault> {
  const key = rule.when ? "when" : "else";
  for (const [path, wanted] of Object.entries(conditionsOf(rule))) {
    if (path.startsWith("$.")) {
      const hint = `Write ${path.slice(2)}: conditions name paths without "$.".`;
      yield { why: `its condition "${path}" begins with "$."`, at: [key, path], of: "key", hint };
    }
    if (typeof wanted !== "object" || wanted === null || Array.isArray(wanted)) continue;
    const { from, to } = wanted;
    if (from !== undefined && to !== undefined && from > to) {
      yield { why: `no number is from ${from} to ${to}`, at: [key, path] };
    }
  }
}

function* eventFaults(event: Readonly<Record<string, unknown>>): Generator<RuleFault> {
  const type = Object.hasOwn(event, "type") ? event["type"] : undefined;
  if (!isMappable(type)) {
    yield {
      why: `its event has the type ${JSON.stringify(type) ?? "undefined"}`,
      at: type === undefined ? ["event"] : ["event", "type"],
      hint: "Write an event's type literally. Requests to a person need an adapter with code, " +
        "because this tool could not hear the answer.",
      ...(typeof type === "string" ? { unknown: { word: type, known: mappableTypes } } : {}),
    };
    return;
  }
  const { known, required } = fieldsOfEvent(type);
  const hint = `Fields of "${type}" are ${known.join(", ")}.`;
  for (const [field, value] of Object.entries(event)) {
    const at = ["event", field];
    if (field === "type") continue;
    if (!known.includes(field)) {
      yield { why: `"${type}" has no field "${field}"`, at, of: "key", hint, unknown: { word: field, known } };
    } else if (isLiteral(value) && !fitsField(type, field, value)) {
      yield { why: `"${field}" of "${type}" cannot be ${JSON.stringify(value).slice(0, 64)}`, at };
    }
    yield* wordFaults(value, at);
  }
  const lacking = required.find((field) => !Object.hasOwn(event, field));
  if (lacking !== undefined) yield { why: `"${type}" needs the field "${lacking}"`, at: ["event"], hint };
}

/** Returns true for a value that is not read from the line. */
function isLiteral(value: unknown): boolean {
  return !textsIn(value).some((text) => text.startsWith("$"));
}

function* wordFaults(value: unknown, at: string[]): Generator<RuleFault> {
  for (const text of textsIn(value)) {
    const word = readReference(text)?.words.find((one) => !conversions.has(one));
    if (word === undefined) continue;
    const known = [...conversions.keys()];
    const hint = `Words that may follow a path are ${known.join(", ")}.`;
    yield { why: `"${word}" after a path has no meaning`, at, hint, unknown: { word, known } };
  }
}

/** A rule is about the entries of one list, or of lists in lists: every path with `*` must go through them. */
function* entryFaults(rule: MappingRule): Generator<RuleFault> {
  const pattern = patternOf(rule);
  const read = textsIn([rule.event, rule.once]).flatMap((text) => readReference(text)?.paths ?? []);
  const stray = [...Object.keys(conditionsOf(rule)), ...read].map(entriesIn).find((one) =>
    one !== "" && one !== pattern && !pattern.startsWith(`${one}.`)
  );
  if (stray === undefined) return;
  const hint = pattern === "" || stray.startsWith(`${pattern}.`)
    ? `Name them in a condition, such as "${stray}.type" or "${stray}": "*".`
    : `Its conditions are about the entries "${pattern}". A rule can be about the entries of one list.`;
  yield { why: `no condition of it is about the entries "${stray}"`, at: [], hint };
}
