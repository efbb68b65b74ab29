import {
  type AdapterEvent,
  fieldsOf,
  fieldsOrNone,
  type JsonFields,
  listOf,
  numberOf,
  objectsOf,
  stringOf,
  type ToolKind,
} from "bulkhead/plugin-sdk";

/** A tool call as an item of a thread holds it. */
interface ToolUse {
  tool: string;
  kind: ToolKind;
  input: unknown;
  /** Output of an item that is done. */
  output: unknown;
}

const actions = { add: "create", update: "modify", delete: "delete" } as const;
/** Kinds of commands by Codex's reading of them; any other may do anything. */
const readings: Readonly<Record<string, ToolKind>> = { read: "read", listFiles: "search", search: "search" };

/** Returns the tool use of an item; null for any other item. */
export function toolUseOf(item: JsonFields): ToolUse | null {
  switch (item["type"]) {
    case "commandExecution":
      return {
        tool: "shell",
        kind: kindOf(item["commandActions"]),
        input: { command: item["command"] },
        output: { exit_code: item["exitCode"] ?? null, output: item["aggregatedOutput"] ?? "" },
      };
    case "fileChange":
      return { tool: "apply_patch", kind: "edit", input: { changes: changesOf(item) }, output: null };
    case "mcpToolCall":
      return {
        tool: `${stringOf(item["server"]) ?? "mcp"}.${stringOf(item["tool"]) ?? "unknown"}`,
        kind: "other",
        input: item["arguments"] ?? null,
        output: item["error"] ?? item["result"] ?? null,
      };
    case "collabAgentToolCall":
      return {
        tool: stringOf(item["tool"]) ?? "collab",
        kind: "other",
        input: { prompt: item["prompt"] ?? null, receiver_thread_ids: listOf(item["receiverThreadIds"]) },
        output: item["agentsStates"] ?? null,
      };
    case "webSearch":
      return {
        tool: "web_search",
        kind: "search",
        input: { query: item["query"] ?? null },
        output: item["action"] ?? null,
      };
    case "imageView":
      return { tool: "view_image", kind: "read", input: { path: item["path"] ?? null }, output: null };
    case "imageGeneration":
      return { tool: "image_generation", kind: "other", input: {}, output: item["status"] ?? null };
    default:
      return null;
  }
}

/** Whether the tool of a finished item did its work. */
export function succeeded(item: JsonFields): boolean {
  const code = item["exitCode"];
  const status = item["status"] ?? "completed";
  return status === "completed" && (typeof code !== "number" || code === 0) && !item["error"];
}

/** How long the tool of a finished item took; null where it does not say. */
export function durationOf(item: JsonFields): number | null {
  return numberOf(item["durationMs"]);
}

/** The changes that a finished patch says it made. */
export function fileChangesOf(item: JsonFields): AdapterEvent[] {
  return listOf(item["changes"]).flatMap((change): AdapterEvent[] => {
    const fields = fieldsOf(change);
    const path = fields && stringOf(fields["path"]);
    if (!path) return [{ type: "unparsed", data: change }];
    const { type, move_path } = fieldsOrNone(fields["kind"]);
    const to = stringOf(move_path);
    if (to) return [{ type: "file_change", path: to, action: "rename", from: path }];
    const kind = stringOf(type) ?? "";
    const action = Object.hasOwn(actions, kind) ? actions[kind as keyof typeof actions] : "modify";
    return [{ type: "file_change", path, action }];
  });
}

/** The changes of a patch as its input. */
function changesOf({ changes }: JsonFields): JsonFields[] {
  return objectsOf(changes).map(({ path, kind, diff }) => {
    const { type, move_path } = fieldsOrNone(kind);
    return { path, kind: type, ...(stringOf(move_path) ? { to: move_path } : {}), diff };
  });
}

function kindOf(commandActions: unknown): ToolKind {
  const kinds = objectsOf(commandActions).map(({ type }) => {
    const name = stringOf(type) ?? "";
    return Object.hasOwn(readings, name) ? readings[name]! : "execute";
  });
  const [first = "execute"] = kinds;
  if (kinds.includes("execute")) return "execute";
  return kinds.every((kind) => kind === first) ? first : "read";
}
