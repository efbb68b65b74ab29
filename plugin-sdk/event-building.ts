import { currencyPattern } from "./currency.ts";
import type { AdapterEvent, AdapterEventType } from "./events.ts";
import { toolKinds } from "./tool-kinds.ts";

/**
 * Event types that can be built from loose fields; requests to a person, their ends and messages cannot, because no code
 * would receive or hand over anything.
 */
type MappableType = Exclude<
  AdapterEventType,
  | "permission_request"
  | "question"
  | "request_withdrawn"
  | "message"
  | "turn_began"
  | "agent_started"
  | "agent_ended"
>;

/** Converts the value to the form of the event's field, or returns undefined if it cannot. */
type Form = (value: unknown) => unknown;

interface Field {
  form: Form;
  /** Value of an absent field; without it and without `optional` there is no event. */
  fallback?: unknown;
  optional?: true;
}

/** Name of a tool that the agent did not name; in a result the host puts that of the call in its place. */
export const unnamedTool = "unknown";

const agent_id: Field = { form: id, optional: true };

// The schemas in events.ts say the same. They are not used here because every adapter includes this file and the schema
// library is many times larger; a test keeps the two in agreement.
const fields: { readonly [T in MappableType]: Readonly<Record<string, Field>> } = {
  output: { stream: { form: oneOf(["stdout", "stderr"]), fallback: "stdout" }, data: { form: text }, agent_id },
  thinking: { content: { form: text }, tokens_used: { form: count, optional: true }, agent_id },
  tool_call: {
    call_id: { form: id },
    tool: { form: id, fallback: unnamedTool },
    kind: { form: (value) => oneOf(toolKinds)(value) ?? "other", fallback: "other" },
    input: { form: anything, fallback: null },
    agent_id,
  },
  tool_result: {
    call_id: { form: id },
    tool: { form: id, fallback: unnamedTool },
    output: { form: anything, fallback: null },
    success: { form: flag, fallback: true },
    duration_ms: { form: amount, fallback: null },
    agent_id,
  },
  file_change: {
    path: { form: path },
    action: { form: oneOf(["create", "modify", "delete", "rename"]), fallback: "modify" },
    from: { form: path, optional: true },
    diff: { form: text, optional: true },
    agent_id,
  },
  progress: { message: { form: text }, percentage: { form: between(0, 100), optional: true }, agent_id },
  plan: { entries: { form: planEntries } },
  usage: {
    scope: { form: oneOf(["turn", "session"]), fallback: "session" },
    tokens_in: { form: count, fallback: null },
    tokens_out: { form: count, fallback: null },
    tokens_cached: { form: count, fallback: null },
    cost: { form: between(0, 1e12), fallback: null },
    currency: { form: currency, optional: true },
    model: { form: label, optional: true },
    partial: { form: flag, optional: true },
    agent_id,
  },
  rate_limit: {
    message: { form: text, fallback: "The agent reports a rate limit." },
    wait_ms: { form: amount, fallback: null },
    reset_at: { form: label, optional: true },
  },
  agent_info: {
    agent_session_id: { form: label, optional: true },
    agent_version: { form: label, optional: true },
    model: { form: label, optional: true },
    tools: { form: texts, optional: true },
  },
  unparsed: { data: { form: anything, fallback: null } },
  completed: {
    success: { form: flag, fallback: true },
    output: { form: text, optional: true },
    files_changed: { form: texts, fallback: [] },
    tokens_used: { form: count, fallback: null },
    cost: { form: between(0, 1e12), fallback: null },
    confidence: { form: between(0, 1), optional: true },
    structured_output: { form: anything, optional: true },
    agent_ref: { form: id, optional: true },
    metadata: { form: facts, optional: true },
  },
  error: {
    code: { form: id, fallback: "fatal" },
    message: { form: text, fallback: "The agent reports an error." },
    recoverable: { form: flag, fallback: false },
  },
};

/** Names of the types whose events can be built from loose fields. */
export const mappableTypes: readonly string[] = Object.keys(fields);

/** Returns true if events of this type can be built from loose fields. */
export function isMappable(type: unknown): type is MappableType {
  return typeof type === "string" && Object.hasOwn(fields, type);
}

/** Returns true if an event's field can have this value as it is written. */
export function fitsField(type: MappableType, field: string, value: unknown): boolean {
  if (field === "kind") return oneOf(toolKinds)(value) !== undefined;
  return value === null || fields[type][field]?.form(value) !== undefined;
}

/** Returns the fields that an event of this type can have, and those that are required. */
export function fieldsOfEvent(type: MappableType): { known: string[]; required: string[] } {
  const known = Object.keys(fields[type]);
  const required = Object.entries(fields[type]).flatMap(([name, { fallback, optional }]) =>
    fallback === undefined && !optional ? [name] : []
  );
  return { known, required };
}

/**
 * Builds an event from loose fields: absent ones get neutral values, unknown ones are dropped. Null when the type is
 * not mappable, a required field is missing, or a value has the wrong form.
 */
export function buildEvent(loose: Readonly<Record<string, unknown>>): AdapterEvent | null {
  const type = loose["type"];
  if (!isMappable(type)) return null;
  const event: Record<string, unknown> = { type };
  for (const [name, field] of Object.entries(fields[type])) {
    const raw = Object.hasOwn(loose, name) ? loose[name] : undefined;
    const given = raw !== undefined && raw !== null;
    const value = given ? field.form(raw) : field.fallback;
    if (value !== undefined) event[name] = value;
    else if (!field.optional || given) return null;
  }
  // Every field of the type has just been converted to its form.
  return event as unknown as AdapterEvent;
}

function anything(value: unknown): unknown {
  return value;
}

function facts(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const names = Object.keys(value);
  return names.length <= 64 && names.every((name) => name !== "" && name.length <= 64) ? value : undefined;
}

function text(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : undefined;
}

function id(value: unknown): string | undefined {
  return shortText(value, { min: 1, max: 256 });
}

function label(value: unknown): string | undefined {
  return shortText(value, { min: 0, max: 1024 });
}

function path(value: unknown): string | undefined {
  return shortText(value, { min: 1, max: 4096 });
}

function currency(value: unknown): string | undefined {
  const found = text(value)?.toUpperCase();
  return found !== undefined && new RegExp(currencyPattern).test(found) ? found : undefined;
}

function shortText(value: unknown, length: { min: number; max: number }): string | undefined {
  const found = text(value);
  return found !== undefined && found.length >= length.min && found.length <= length.max ? found : undefined;
}

function texts(value: unknown): string[] | undefined {
  if (!Array.isArray(value) || value.length > 10_000) return undefined;
  return value.every((item) => typeof item === "string" && item.length <= 4096) ? value : undefined;
}

function flag(value: unknown): boolean | undefined {
  return typeof value === "boolean" ? value : undefined;
}

function amount(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

function count(value: unknown): number | undefined {
  return Number.isSafeInteger(value) ? amount(value) : undefined;
}

function between(least: number, most: number): Form {
  return (value) => {
    const found = amount(value);
    return found !== undefined && found >= least && found <= most ? found : undefined;
  };
}

function oneOf(names: readonly string[]): Form {
  return (value) => (typeof value === "string" && names.includes(value) ? value : undefined);
}

function planEntries(value: unknown): unknown[] | undefined {
  if (!Array.isArray(value) || value.length > 1000) return undefined;
  const entries = value.map(planEntry);
  return entries.includes(undefined) ? undefined : entries;
}

function planEntry(value: unknown): Record<string, unknown> | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const of = (key: string): unknown => (Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined);
  const content = text(of("content"));
  if (content === undefined) return undefined;
  const status = oneOf(["pending", "in_progress", "completed"])(of("status")) ?? "pending";
  const priority = oneOf(["high", "medium", "low"])(of("priority"));
  return priority === undefined ? { content, status } : { content, status, priority };
}
