import {
  type AdapterEvent,
  countOf,
  fieldsOf,
  fieldsOrNone,
  type JsonFields,
  listOf,
  type PlanEntry,
  stringOf,
  type ToolKind,
} from "bulkhead/plugin-sdk";

const kinds: ReadonlyMap<string, ToolKind> = new Map([
  ["read", "read"],
  ["skill", "read"],
  ["glob", "search"],
  ["grep", "search"],
  ["list", "search"],
  ["codesearch", "search"],
  ["webfetch", "fetch"],
  ["websearch", "fetch"],
  ["write", "edit"],
  ["edit", "edit"],
  ["multiedit", "edit"],
  ["patch", "edit"],
  ["apply_patch", "edit"],
  ["bash", "execute"],
  ["todowrite", "think"],
  ["todoread", "think"],
]);

const statuses: readonly string[] = ["in_progress", "completed"] satisfies PlanEntry["status"][];
const priorities: readonly string[] = ["high", "medium", "low"] satisfies PlanEntry["priority"][];

/** A tool call that is over, as a part of the stream holds it. */
interface ToolUse {
  events: AdapterEvent[];
  /** True where it was not permitted: the program then ends its turn. */
  rejected: boolean;
}

/**
 * Reads a tool's part: its call, its result, and what it means beside; null where the part is not whole.
 * @param distinct gives a call's id as no other call has it
 */
export function toolUseOf(part: JsonFields, distinct: (callId: string) => string): ToolUse | null {
  const [callId, name, state] = [stringOf(part["callID"]), stringOf(part["tool"]), fieldsOf(part["state"])];
  const status = state && stringOf(state["status"]);
  if (callId === null || name === null || !state || (status !== "completed" && status !== "error")) return null;
  const id = distinct(callId);
  const input = fieldsOrNone(state["input"]);
  const metadata = fieldsOrNone(state["metadata"]);
  // The model called an unknown tool; the program records it under a name of its own.
  const unknown = name === "invalid";
  const tool = (unknown ? stringOf(input["tool"]) : null) ?? name;
  const code = metadata["exit"];
  const success = status === "completed" && !unknown && (typeof code !== "number" || code === 0);
  const output = name === "bash" && typeof code === "number"
    ? { exit_code: code, output: state["output"] ?? "" }
    : state["output"] ?? stringOf(state["error"]);
  const rejected = status === "error" && /rejected permission/i.test(stringOf(state["error"]) ?? "");
  return {
    events: [
      { type: "tool_call", call_id: id, tool, kind: kinds.get(name) ?? "other", input: state["input"] ?? null },
      { type: "tool_result", call_id: id, tool, output, success, duration_ms: durationOf(fieldsOf(state["time"])) },
      ...(success ? effectsOf(name, { input, metadata }) : []),
    ],
    rejected,
  };
}

/** Returns the effects of a successful tool call beside its result: a changed file, or a plan. */
function effectsOf(tool: string, { input, metadata }: { input: JsonFields; metadata: JsonFields }): AdapterEvent[] {
  if (tool === "todowrite") return [planOf(listOf(input["todos"]))];
  const path = stringOf(metadata["filepath"]) ?? stringOf(input["filePath"]);
  if (!path || kinds.get(tool) !== "edit") return [];
  const diff = stringOf(metadata["diff"]);
  const action = metadata["exists"] === false ? "create" : "modify";
  return [{ type: "file_change", path, action, ...(diff === null ? {} : { diff }) }];
}

function planOf(todos: unknown[]): AdapterEvent {
  const entries = todos.flatMap((todo): PlanEntry[] => {
    const fields = fieldsOf(todo);
    const content = fields && stringOf(fields["content"]);
    if (!fields || content === null || fields["status"] === "cancelled") return [];
    const status = oneOf<PlanEntry["status"]>(statuses, fields["status"]) ?? "pending";
    const priority = oneOf<NonNullable<PlanEntry["priority"]>>(priorities, fields["priority"]);
    return [{ content, status, ...(priority === null ? {} : { priority }) }];
  });
  return { type: "plan", entries: entries.slice(0, 1000) };
}

function oneOf<T extends string>(known: readonly string[], value: unknown): T | null {
  return typeof value === "string" && known.includes(value) ? value as T : null;
}

function durationOf(time: JsonFields | null): number | null {
  const start = time && countOf(time["start"]);
  const end = time && countOf(time["end"]);
  return start === null || end === null ? null : Math.max(0, end - start);
}
