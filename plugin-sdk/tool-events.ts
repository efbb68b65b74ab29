import type { AdapterEvent, FileChangeEvent, ToolCallEvent, ToolResultEvent } from "./events.ts";
import { readPath } from "./json-path.ts";
import type { JsonLines } from "./manifest.ts";

/** Most calls that are remembered while they run. */
const maxOpen = 10_000;
const maxPath = 4096;

/** Adds to a program's tool calls what its manifest knows of its tools: their kinds, and the files that they change. */
export class ToolEvents {
  readonly #known: Pick<JsonLines, "tool_kinds" | "file_changes">;
  /** Path that each running call is about to change. */
  readonly #changes = new Map<string, string>();

  constructor(known: Pick<JsonLines, "tool_kinds" | "file_changes">) {
    this.#known = known;
  }

  take(events: readonly AdapterEvent[]): AdapterEvent[] {
    return events.flatMap((event): AdapterEvent[] | AdapterEvent => {
      if (event.type === "tool_call") return this.#called(event);
      return event.type === "tool_result" ? this.#ended(event) : event;
    });
  }

  #called(event: ToolCallEvent): ToolCallEvent {
    const { tool_kinds: kinds = {}, file_changes: changes = {} } = this.#known;
    const at = ownOf(changes, event.tool);
    const path = at === undefined ? undefined : readPath(event.input, at);
    if (typeof path === "string" && path !== "" && path.length <= maxPath && this.#changes.size < maxOpen) {
      this.#changes.set(event.call_id, path);
    }
    return event.kind === "other" ? { ...event, kind: ownOf(kinds, event.tool) ?? event.kind } : event;
  }

  #ended(event: ToolResultEvent): [ToolResultEvent, ...FileChangeEvent[]] {
    const path = this.#changes.get(event.call_id);
    this.#changes.delete(event.call_id);
    return path === undefined || !event.success ? [event] : [event, { type: "file_change", path, action: "modify" }];
  }
}

function ownOf<T>(values: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}
