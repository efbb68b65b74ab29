import { buildEvent } from "./event-building.ts";
import type { AdapterEvent } from "./events.ts";
import { fieldsOf, type JsonFields, parseJson, parseJsonLine } from "./json-fields.ts";
import { jsonLineEvents } from "./json-line-events.ts";
import { atEntry, entriesIn, entriesOf, EntrySet, readPath } from "./json-path.ts";
import type { Condition, Conditions, MappingRule, Scalar } from "./mapping-rule.ts";
import type { SessionRequest } from "./request.ts";
import { SpokenMessages } from "./spoken-messages.ts";
import { containsText } from "./text-pattern.ts";

/** Most values of `once` that are remembered for one rule. */
const maxRemembered = 10_000;

/** Memory of the rules of one session, from line to line. */
export class MappingMemory {
  readonly #seen = new Map<MappingRule, Set<string>>();
  /** The agent's messages. */
  readonly messages: SpokenMessages = new SpokenMessages();
  /** Whether the session goes on from another one. */
  readonly isContinued: boolean;

  constructor({ continue_from }: Pick<SessionRequest, "continue_from"> = {}) {
    this.isContinued = continue_from !== undefined;
  }

  /** Returns true for a value that the rule's `once` meets for the first time. */
  isNew(rule: MappingRule, value: unknown): boolean {
    const seen = this.#seen.get(rule) ?? new Set();
    this.#seen.set(rule, seen);
    const key = JSON.stringify(value) ?? "";
    if (seen.has(key)) return false;
    seen.add(key);
    const [oldest] = seen;
    if (seen.size > maxRemembered && oldest !== undefined) seen.delete(oldest);
    return true;
  }
}

/**
 * Turns one line of JSON into events, by all rules whose conditions hold, in their order. A line that no rule makes
 * anything of becomes `unparsed`, and so does a part of an object; any other line that is not JSON becomes `output`.
 * It never throws, even for a malformed line.
 * @param memory of the session that the line is from
 */
export function mapJsonLine(
  line: string,
  rules: readonly MappingRule[],
  memory: MappingMemory = new MappingMemory(),
): AdapterEvent[] {
  const data = parseJsonLine(line);
  if (data !== undefined) return mapJson(data, rules, memory);
  return memory.messages.take(jsonLineEvents(line, () => null));
}

/** Does the same as {@link mapJsonLine} for a line that is parsed already. */
export function mapJson(
  data: unknown,
  rules: readonly MappingRule[],
  memory: MappingMemory = new MappingMemory(),
): AdapterEvent[] {
  const events: AdapterEvent[] = [];
  const known = new EntrySet();
  let [isKnown, isIgnored] = [false, false];
  let chain = new EntrySet();
  for (const rule of rules) {
    if (rule.else === undefined) chain = new EntrySet();
    const before = chain;
    const entries = entriesOf(data, patternOf(rule)).filter((entry) => !before.touches(entry));
    const taken = entries.filter((entry) => {
      if (!hold(conditionsOf(rule), data, entry)) return false;
      if (rule.ignore) return true;
      const event = buildEvent(fillIn(rule.event ?? {}, data, entry));
      if (event === null) return false;
      if (rule.cumulative && memory.isContinued) return true;
      const isNew = rule.once === undefined || memory.isNew(rule, valueOf(rule.once, data, entry));
      if (isNew) events.push(...memory.messages.take([event], rule));
      return true;
    });
    for (const entry of taken) {
      chain.add(entry);
      if (entry !== "") known.add(entry);
      else if (rule.ignore) isIgnored = true;
      isKnown = true;
    }
  }
  if (!isKnown) return [{ type: "unparsed", data }];
  return isIgnored ? events : [...events, ...unknownEntries(data, rules, known)];
}

/** Returns the entries that no rule took, of the lists that a rule reads entry by entry. */
function unknownEntries(data: unknown, rules: readonly MappingRule[], known: EntrySet): AdapterEvent[] {
  // A shorter pattern is about the outer list: an entry of it is kept with all that is in it.
  const patterns = [...new Set(rules.map(patternOf))].sort((a, b) => a.length - b.length);
  return patterns.filter((pattern) => pattern !== "").flatMap((pattern) =>
    entriesOf(data, pattern).flatMap((entry): AdapterEvent[] => {
      if (known.touches(entry)) return [];
      known.add(entry);
      return [{ type: "unparsed", data: readPath(data, entry) }];
    })
  );
}

/** Returns the conditions of a rule, whether it stands alone or instead of those before it. */
export function conditionsOf(rule: MappingRule): Conditions {
  return rule.when ?? rule.else ?? {};
}

/** Returns the pattern of the entries that a rule is about: that of the innermost list in its conditions. */
export function patternOf(rule: MappingRule): string {
  const patterns = Object.keys(conditionsOf(rule)).map(entriesIn);
  return patterns.reduce((longest, one) => (one.length > longest.length ? one : longest), "");
}

function hold(conditions: Conditions, data: unknown, entry: string): boolean {
  return Object.entries(conditions).every(([path, wanted]) => holds(wanted, readPath(data, atEntry(path, entry))));
}

function holds(wanted: Condition, found: unknown): boolean {
  if (typeof wanted !== "object" || wanted === null || Array.isArray(wanted)) return isOneOf(wanted, found);
  const { not, contains, from, to } = wanted;
  if (not !== undefined && isOneOf(not, found)) return false;
  if (contains !== undefined) {
    if (typeof found !== "string" || ![contains].flat().some((text) => containsText(found, text))) return false;
  }
  if (from === undefined && to === undefined) return true;
  return typeof found === "number" && found >= (from ?? -Infinity) && found <= (to ?? Infinity);
}

function isOneOf(wanted: Scalar | Scalar[], found: unknown): boolean {
  return [wanted].flat().some((one) => (one === "*" ? found !== undefined : found === one));
}

function fillIn(template: Readonly<Record<string, unknown>>, data: unknown, entry: string): JsonFields {
  const entries = Object.entries(template).map(([key, value]) => [key, valueOf(value, data, entry)] as const);
  // fromEntries() defines properties, so a key such as `__proto__` is safe.
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function valueOf(value: unknown, data: unknown, entry: string): unknown {
  if (typeof value === "string") {
    const reference = readReference(value);
    if (!reference) return value.startsWith("$$") ? value.slice(1) : value;
    const found = reference.paths.map((path) => readPath(data, atEntry(path, entry)));
    return reference.words.reduce((read, word) => conversions.get(word)?.(read), sumOf(found));
  }
  if (Array.isArray(value)) return value.map((item) => valueOf(item, data, entry) ?? null);
  const fields = fieldsOf(value);
  return fields ? fillIn(fields, data, entry) : value;
}

/** Returns the value of one path, and of several the sum; what is no number adds nothing to a first that is one. */
function sumOf([first, ...more]: readonly unknown[]): unknown {
  if (more.length === 0) return first;
  if (typeof first !== "number") return undefined;
  return more.reduce<number>((sum, one) => (typeof one === "number" ? sum + one : sum), first);
}

/**
 * Reads a text of a rule that stands for a value of the line, such as `$.a.b | json` or `$.a + $.b`; null for any other
 * text.
 */
export function readReference(text: string): { paths: string[]; words: string[] } | null {
  if (!text.startsWith("$.")) return null;
  const [read = "", ...words] = text.split("|").map((part) => part.trim());
  return { paths: read.split(" + $.").map((path, index) => (index === 0 ? path.slice(2) : path)), words };
}

/** Words that may follow a path: what each of them makes of the value there. */
export const conversions: ReadonlyMap<string, (value: unknown) => unknown> = new Map([
  ["json", (value) => (typeof value === "string" ? parseJson(value) ?? value : value)],
  ["nonzero", (value) => (value === 0 ? undefined : value)],
  ["not", (value) => (typeof value === "boolean" ? !value : undefined)],
]);
