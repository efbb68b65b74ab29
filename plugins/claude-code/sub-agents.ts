import {
  type AdapterEvent,
  type AgentEndedEvent,
  fieldsOf,
  type JsonFields,
  numberOf,
  objectsOf,
  textOf,
} from "bulkhead/plugin-sdk";

/** Tools whose call begins a helper agent. */
const tools: readonly unknown[] = ["Agent", "Task"];

/** Calls and helpers that are remembered. */
const maxKept = 10_000;

/** A helper agent; its id is that of the call that began it. */
interface Helper {
  name: string;
  prompt: string | undefined;
  parent: string | undefined;
  isStarted: boolean;
  /** It goes on when its call has a result. */
  isAsync: boolean;
}

/** Helper agents of the program: when they begin and end. */
export class HelperAgents {
  readonly #helpers = new Map<string, Helper>();
  /** The helper of each task. */
  readonly #ofTask = new Map<string, string>();
  /** The helper that made a call. */
  readonly #ofCall = new Map<string, string>();

  /** Notes a block that calls for a helper. @param parent the helper that calls */
  called(block: JsonFields, parent: string | undefined): void {
    const id = textOf(block["id"]);
    if (id !== undefined && parent !== undefined && this.#ofCall.size < maxKept) this.#ofCall.set(id, parent);
    if (id === undefined || !tools.includes(block["name"]) || this.#helpers.size >= maxKept) return;
    const input = fieldsOf(block["input"]) ?? {};
    this.#helpers.set(id, { ...describe(input), parent, isStarted: false, isAsync: false });
  }

  /** Returns the helper that asks: by the program's own id of its task, or by the call that it asks about. */
  ofRequest({ agent_id, tool_use_id }: JsonFields): string | undefined {
    return this.#ofTask.get(textOf(agent_id) ?? "") ?? this.#ofCall.get(textOf(tool_use_id) ?? "");
  }

  /** Returns the name of a helper; undefined for none. */
  nameOf(callId: string | undefined): string | undefined {
    return callId === undefined ? undefined : this.#helpers.get(callId)?.name ?? "helper";
  }

  /** The helper of a call works; returns its start, once. */
  works(callId: string): AdapterEvent[] {
    const helper = this.#helpers.get(callId) ??
      { ...describe({}), parent: undefined, isStarted: false, isAsync: false };
    if (helper.isStarted || this.#helpers.size >= maxKept) return [];
    helper.isStarted = true;
    this.#helpers.set(callId, helper);
    const { name, prompt, parent } = helper;
    return [{
      type: "agent_started",
      agent_id: callId,
      call_id: callId,
      name,
      ...(parent === undefined ? {} : { parent }),
      ...(prompt === undefined ? {} : { prompt }),
    }];
  }

  /** Takes a `system` message about a task; most are about something else. */
  take(message: JsonFields): AdapterEvent[] {
    const callId = textOf(message["tool_use_id"]);
    if (callId === undefined) return [];
    if (message["subtype"] === "task_started" && message["task_type"] === "local_agent") {
      const taskId = textOf(message["task_id"]);
      if (taskId !== undefined && this.#ofTask.size < maxKept) this.#ofTask.set(taskId, callId);
      const events = this.works(callId);
      const helper = this.#helpers.get(callId);
      if (helper) helper.isAsync = message["is_backgrounded"] === true;
      return events;
    }
    if (message["subtype"] !== "task_notification" || this.#helpers.get(callId)?.isAsync !== true) return [];
    const status = message["status"];
    const outcome = status === "completed" ? "completed" : status === "failed" ? "error" : "stopped";
    return this.#end(callId, { outcome, ...outputOf(textOf(message["summary"])) });
  }

  /** A tool's answer: that of the call ends a helper which the call waited for. */
  answered(block: JsonFields, message: JsonFields): AdapterEvent[] {
    const callId = textOf(block["tool_use_id"]);
    const helper = this.#helpers.get(callId ?? "");
    if (callId === undefined || !helper) return [];
    const result = fieldsOf(message["tool_use_result"]) ?? {};
    helper.isAsync ||= result["isAsync"] === true;
    if (helper.isAsync) return this.works(callId);
    const output = objectsOf(result["content"]).flatMap((part) => textOf(part["text"]) ?? []).join("\n");
    const usage = usageOf(fieldsOf(result["usage"]));
    const outcome = block["is_error"] === true ? "error" : "completed";
    return this.#end(callId, { outcome, ...(usage === undefined ? {} : { usage }), ...outputOf(output) });
  }

  #end(callId: string, facts: Omit<AgentEndedEvent, "type" | "agent_id">): AdapterEvent[] {
    const isStarted = this.#helpers.get(callId)?.isStarted === true;
    this.#helpers.delete(callId);
    // A call that was refused began none.
    return isStarted ? [{ type: "agent_ended", agent_id: callId, ...facts }] : [];
  }
}

/** Returns a helper's requests with its name, and the other events as they are. */
export function namedFor(name: string | undefined, events: readonly AdapterEvent[]): AdapterEvent[] {
  const of = (text: string): string => name === undefined ? text : `[sub-agent ${name}] ${text}`;
  return events.map((event) => {
    if (event.type === "permission_request") return { ...event, title: of(event.title).slice(0, 1024) };
    return event.type === "question" ? { ...event, question: of(event.question) } : event;
  });
}

/** Returns the events as those of a helper. */
export function ofHelper(id: string | undefined, events: readonly AdapterEvent[]): AdapterEvent[] {
  return events.map((event) => {
    switch (event.type) {
      case "progress":
      case "tool_call":
      case "tool_result":
      case "file_change":
      case "permission_request":
      case "question":
        return id === undefined ? event : { ...event, agent_id: id };
      default:
        return event;
    }
  });
}

function describe(input: JsonFields): Pick<Helper, "name" | "prompt"> {
  const name = textOf(input["subagent_type"]) || textOf(input["description"]) || "helper";
  return { name: name.slice(0, 256), prompt: textOf(input["prompt"]) };
}

function outputOf(output: string | undefined): Pick<AgentEndedEvent, "output"> {
  return output === undefined || output === "" ? {} : { output };
}

/** Returns the usage of a helper, which is in the program's totals already. */
function usageOf(usage: JsonFields | null): AgentEndedEvent["usage"] {
  if (usage === null) return undefined;
  const [fresh, read, written, out] = [
    "input_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "output_tokens",
  ].map((key) => numberOf(usage[key]));
  const known = [fresh, read, written].filter((value) => typeof value === "number");
  return {
    tokens_in: known.length === 0 ? null : known.reduce((total, value) => total + value, 0),
    tokens_out: out ?? null,
    tokens_cached: read ?? null,
    cost: null,
  };
}
