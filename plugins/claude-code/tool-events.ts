import {
  type AdapterEvent,
  fieldsOf,
  type FileChangeEvent,
  type JsonFields,
  numberOf,
  objectsOf,
  type PlanEntry,
  textOf,
} from "bulkhead/plugin-sdk";
import { plainContent } from "./spoken-text.ts";
import { answerTool } from "./output-schema.ts";
import { kindOfTool } from "./tool-names.ts";

/** Calls whose answers are awaited, and paths remembered; more are passed on without being remembered. */
const maxKept = 10_000;

/** Tool calls and their results, with what they say of files and of the plan. */
export class ToolEvents {
  readonly #open = new Map<string, { tool: string; at: number | null }>();
  /** Calls that give the answer's data. */
  readonly #answers = new Set<string>();
  readonly #changed = new Set<string>();
  #cwd = "";

  /** Paths that were changed, as the events name them. */
  get filesChanged(): string[] {
    return [...this.#changed];
  }

  /** Begins a turn, which has changed nothing. Calls may be open: helper agents go on. */
  beginTurn(): void {
    this.#changed.clear();
  }

  /** The folder that paths are shown relative to. */
  set cwd(folder: string) {
    this.#cwd = folder;
  }

  /** A block that calls a tool; null for any other. `timestamp` is the message's. */
  call(block: JsonFields, timestamp: unknown): AdapterEvent[] | null {
    const id = textOf(block["id"]);
    const tool = textOf(block["name"]);
    if (!String(block["type"]).endsWith("tool_use") || id === undefined || tool === undefined) return null;
    if (tool === answerTool && this.#answers.size < maxKept) {
      this.#answers.add(id);
      return [];
    }
    if (this.#open.size < maxKept) this.#open.set(id, { tool, at: timeOf(timestamp) });
    const input = block["input"] ?? {};
    const call: AdapterEvent = { type: "tool_call", call_id: id, tool, kind: kindOfTool(tool), input };
    const plan = tool === "TodoWrite" ? planOf(input) : null;
    return plan ? [call, { type: "plan", entries: plan }] : [call];
  }

  /** A block that is a tool's answer; null for any other. The message around it says when, and what was changed. */
  result(block: JsonFields, message: JsonFields): AdapterEvent[] | null {
    const id = textOf(block["tool_use_id"]);
    if (!String(block["type"]).endsWith("tool_result") || id === undefined) return null;
    if (this.#answers.delete(id)) {
      return block["is_error"] === true ? [{ type: "progress", message: String(plainContent(block["content"])) }] : [];
    }
    const open = this.#open.get(id);
    this.#open.delete(id);
    const success = block["is_error"] !== true;
    const answered = timeOf(message["timestamp"]);
    const duration_ms = answered === null || open === undefined || open.at === null ? null : answered - open.at;
    const tool = open?.tool ?? "unknown";
    const output = plainContent(block["content"]);
    const result: AdapterEvent = {
      type: "tool_result",
      call_id: id,
      tool,
      output,
      success,
      duration_ms: duration_ms === null ? null : Math.max(0, duration_ms),
    };
    const change = success && kindOfTool(tool) === "edit" ? this.#change(fieldsOf(message["tool_use_result"])) : null;
    if (!change) return [result];
    if (this.#changed.size < maxKept) this.#changed.add(change.path);
    return [result, change];
  }

  #change(said: JsonFields | null): FileChangeEvent | null {
    const path = textOf(said?.["filePath"]) ?? textOf(said?.["notebook_path"]);
    if (!said || path === undefined) return null;
    const diff = objectsOf(said["structuredPatch"]).map(hunkText).join("");
    return {
      type: "file_change",
      path: this.#cwd !== "" && path.startsWith(`${this.#cwd}/`) ? path.slice(this.#cwd.length + 1) : path,
      action: said["type"] === "create" ? "create" : "modify",
      ...(diff === "" ? {} : { diff }),
    };
  }
}

function hunkText(hunk: JsonFields): string {
  const [from, before, to, after] = ["oldStart", "oldLines", "newStart", "newLines"].map((key) => numberOf(hunk[key]));
  const lines = Array.isArray(hunk["lines"]) ? hunk["lines"].map(String) : [];
  return `@@ -${from},${before} +${to},${after} @@\n${lines.map((line) => `${line}\n`).join("")}`;
}

function planOf(input: unknown): PlanEntry[] | null {
  const todos = objectsOf(fieldsOf(input)?.["todos"]).slice(0, 1000);
  const entries = todos.flatMap((todo): PlanEntry[] => {
    const content = textOf(todo["content"]);
    const status = todo["status"];
    const known = status === "in_progress" || status === "completed" ? status : "pending";
    return content === undefined ? [] : [{ content, status: known }];
  });
  return entries.length === 0 ? null : entries;
}

function timeOf(timestamp: unknown): number | null {
  const at = typeof timestamp === "string" ? Date.parse(timestamp) : NaN;
  return Number.isNaN(at) ? null : at;
}
