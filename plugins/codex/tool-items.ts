import { type AdapterEvent, fieldsOf, type JsonFields, listOf, stringOf, type ToolKind } from "bulkhead/plugin-sdk";

/** A tool call as an item of the stream holds it. */
interface ToolUse {
  tool: string;
  kind: ToolKind;
  input: unknown;
  /** Output of an item that is done. */
  output: unknown;
}

const actions = { add: "create", update: "modify", delete: "delete" } as const;

/** Returns the tool use of an item; null for any other item. */
export function toolUseOf(item: JsonFields): ToolUse | null {
  switch (item["type"]) {
    case "command_execution":
      return {
        tool: "shell",
        kind: "execute",
        input: { command: item["command"] },
        output: { exit_code: item["exit_code"] ?? null, output: item["aggregated_output"] ?? "" },
      };
    case "file_change":
      return { tool: "apply_patch", kind: "edit", input: { changes: item["changes"] }, output: null };
    case "mcp_tool_call":
      return {
        tool: `${stringOf(item["server"]) ?? "mcp"}.${stringOf(item["tool"]) ?? "unknown"}`,
        kind: "other",
        input: item["arguments"] ?? null,
        output: item["error"] ?? item["result"] ?? null,
      };
    case "collab_tool_call":
      return {
        tool: stringOf(item["tool"]) ?? "collab",
        kind: "other",
        input: { prompt: item["prompt"] ?? null, receiver_thread_ids: listOf(item["receiver_thread_ids"]) },
        output: item["agents_states"] ?? null,
      };
    case "web_search":
      return {
        tool: "web_search",
        kind: "search",
        input: { query: item["query"] ?? null },
        output: item["action"] ?? null,
      };
    default:
      return null;
  }
}

/** Whether the tool of a finished item did its work. */
export function succeeded(item: JsonFields): boolean {
  const code = item["exit_code"];
  const status = item["status"] ?? "completed";
  return status === "completed" && (typeof code !== "number" || code === 0) && !item["error"];
}

/** The changes that a finished patch says it made. */
export function fileChangesOf(item: JsonFields): AdapterEvent[] {
  return listOf(item["changes"]).flatMap((change): AdapterEvent[] => {
    const fields = fieldsOf(change);
    const path = fields && stringOf(fields["path"]);
    if (!path) return [{ type: "unparsed", data: change }];
    const kind = stringOf(fields["kind"]) ?? "";
    const action = Object.hasOwn(actions, kind) ? actions[kind as keyof typeof actions] : "modify";
    return [{ type: "file_change", path, action }];
  });
}
