import {
  type AdapterEvent,
  fieldsOf,
  fieldsOrNone,
  type JsonFields,
  listOf,
  objectsOf,
  stringOf,
  textOf,
  type ToolKind,
  toolKinds,
} from "bulkhead/plugin-sdk";

/** A tool call as far as the agent has told of it: each update replaces what it names. */
interface Call {
  fields: JsonFields;
  state: "held" | "open" | "over";
}

/**
 * The tool calls of a turn. An agent tells of one before it knows what for; it is given to the host once that is known:
 * when it runs, when it asks, or when the agent goes on.
 */
export class ToolCalls {
  readonly #calls = new Map<string, Call>();

  /** Takes a `tool_call` or `tool_call_update`, or the call that a request for permission shows; null for what is none. */
  take(update: JsonFields): AdapterEvent[] | null {
    const id = textOf(update["toolCallId"]);
    if (id === undefined) return null;
    const call = this.#calls.get(id) ?? { fields: {}, state: "held" as const };
    if (call.state === "over") return tells(update) ? null : [];
    call.fields = merged(call.fields, update);
    this.#calls.set(id, call);
    const status = call.fields["status"];
    if (status !== "completed" && status !== "failed") return status === "in_progress" ? this.#open(id, call) : [];
    const events = this.#open(id, call);
    call.state = "over";
    return [...events, ...resultOf(id, call.fields)];
  }

  /** Gives the call, if it was held back: it asks, or the agent goes on to something else. */
  open(id: string): AdapterEvent[] {
    const call = this.#calls.get(id);
    return call ? this.#open(id, call) : [];
  }

  /** All that the agent has told of a call. */
  told(id: string): JsonFields {
    return this.#calls.get(id)?.fields ?? {};
  }

  openAll(): AdapterEvent[] {
    return [...this.#calls.keys()].flatMap((id) => this.open(id));
  }

  #open(id: string, call: Call): AdapterEvent[] {
    if (call.state !== "held") return [];
    call.state = "open";
    const { fields } = call;
    return [{ type: "tool_call", call_id: id, tool: toolOf(fields), kind: kindOf(fields), input: inputOf(fields) }];
  }
}

/**
 * The tool's name. Where the agent tells none, one that stands before two underscores in the call's id, as some agents
 * write it, and else its kind: a title is a sentence, which no rule could go by.
 */
export function toolOf(call: JsonFields): string {
  const told = textOf(call["name"]) ?? textOf(fieldsOrNone(fieldsOrNone(call["_meta"])["claudeCode"])["toolName"]);
  const inId = /^([A-Za-z][\w.-]*)__[A-Za-z0-9-]{6,}$/.exec(textOf(call["toolCallId"]) ?? "")?.[1];
  return (told ?? inId ?? textOf(call["kind"]) ?? "other").slice(0, 256);
}

/** The family of a tool; one that the host's contract does not name is `other`. */
export function kindOf({ kind }: JsonFields): ToolKind {
  return toolKinds.find((known) => known === kind) ?? "other";
}

/** Returns the tool's input: its arguments, or as much as the agent shows. */
export function inputOf({ rawInput, title, locations }: JsonFields): unknown {
  const input = fieldsOf(rawInput);
  if (input ? Object.keys(input).length > 0 : rawInput !== undefined && rawInput !== null) return rawInput;
  const paths = pathsOf(locations);
  return { title: stringOf(title) ?? "", ...(paths.length > 0 ? { locations: paths } : {}) };
}

function resultOf(id: string, fields: JsonFields): AdapterEvent[] {
  const success = fields["status"] === "completed";
  const output = fields["rawOutput"] ?? shown(fields["content"]);
  const result: AdapterEvent = {
    type: "tool_result",
    call_id: id,
    tool: toolOf(fields),
    output,
    success,
    duration_ms: null,
  };
  return success ? [result, ...changesOf(fields)] : [result];
}

/** Returns the changes that the agent reports for the call. */
function changesOf({ content, kind, locations }: JsonFields): AdapterEvent[] {
  const changes = objectsOf(content).filter(({ type }) => type === "diff").flatMap((diff): AdapterEvent[] => {
    const path = textOf(diff["path"]);
    return path === undefined ? [] : [{ type: "file_change", path, action: actionOf(diff) }];
  });
  if (changes.length > 0 || kind !== "delete") return changes;
  return pathsOf(locations).map((path) => ({ type: "file_change", path, action: "delete" }));
}

function actionOf({ oldText, _meta }: JsonFields): "create" | "modify" | "delete" {
  switch (fieldsOrNone(_meta)["kind"]) {
    case "add":
      return "create";
    case "delete":
      return "delete";
    default:
      return oldText === undefined || oldText === null ? "create" : "modify";
  }
}

/** The texts of a call's content; what is no text as it came, and null for none. */
function shown(content: unknown): unknown {
  const items = listOf(content);
  if (items.length === 0) return null;
  const texts = items.map((item) => {
    const fields = fieldsOrNone(item);
    return fields["type"] === "content" ? stringOf(fieldsOrNone(fields["content"])["text"]) : null;
  });
  const known = texts.filter((text) => text !== null);
  if (known.length === items.length) return known.join("\n");
  // Differences stand in the file changes.
  const others = objectsOf(items).filter(({ type }) => type !== "diff");
  return others.length > 0 ? others : null;
}

function pathsOf(locations: unknown): string[] {
  return objectsOf(locations).flatMap(({ path }) => textOf(path) ?? []);
}

/** Null and an empty list take nothing away. */
function merged(before: JsonFields, update: JsonFields): JsonFields {
  const said = Object.entries(update).filter(([key, value]) => {
    return value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0 && key in before);
  });
  return { ...before, ...Object.fromEntries(said) };
}

/** Whether an update of a call that is over says anything of it. */
function tells({ status, content, rawOutput }: JsonFields): boolean {
  return (status ?? content ?? rawOutput ?? null) !== null;
}
