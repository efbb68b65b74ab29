import {
  type AdapterEvent,
  fieldsOf,
  type JsonFields,
  listOf,
  type PlanEntry,
  stringOf,
  type ToolKind,
} from "bulkhead/plugin-sdk";

const kinds: ReadonlyMap<string, ToolKind> = new Map([
  ["read_file", "read"],
  ["read_many_files", "read"],
  ["list_directory", "read"],
  ["glob", "search"],
  ["grep_search", "search"],
  ["search_file_content", "search"],
  ["google_web_search", "search"],
  ["web_fetch", "fetch"],
  ["write_file", "edit"],
  ["replace", "edit"],
  ["run_shell_command", "execute"],
  ["write_todos", "think"],
  ["update_topic", "think"],
  ["save_memory", "think"],
]);

/** The family of a tool by its name. */
export function kindOf(tool: string): ToolKind {
  return kinds.get(tool) ?? "other";
}

/** Returns the effects of a successful tool call beside its result: a changed file, or a plan. */
export function effectsOf(tool: string, parameters: JsonFields): AdapterEvent[] {
  if (tool === "write_todos") return planOf(listOf(parameters["todos"]));
  const path = stringOf(parameters["file_path"]);
  // Whether a file was there before it was written is not told.
  return path && kindOf(tool) === "edit" ? [{ type: "file_change", path, action: "modify" }] : [];
}

function planOf(todos: unknown[]): AdapterEvent[] {
  const entries = todos.flatMap((todo): PlanEntry[] => {
    const fields = fieldsOf(todo);
    const content = fields && stringOf(fields["description"]);
    const status = fields && stringOf(fields["status"]);
    if (content === null || status === "cancelled") return [];
    return [{ content, status: status === "in_progress" || status === "completed" ? status : "pending" }];
  });
  return [{ type: "plan", entries }];
}
