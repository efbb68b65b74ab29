import {
  type AdapterEvent,
  countOf,
  fieldsOf,
  type JsonFields,
  jsonLineEvents,
  listOf,
  type PlanEntry,
  stringOf,
} from "bulkhead/plugin-sdk";
import { failureOf, isRetry } from "./failures.ts";
import { GrowingTexts } from "./growing-text.ts";
import { fileChangesOf, succeeded, toolUseOf } from "./tool-items.ts";

/** Options of {@link ExecStream}. */
interface ExecStreamOptions {
  /** The model that was asked for; the stream itself names none. */
  model?: string | undefined;
  /** Whether the thread had turns before: its figures then count those too. */
  resumed?: boolean;
}

/** Turns the lines of `codex exec --json` into events, one session long. */
export class ExecStream {
  readonly #options: ExecStreamOptions;
  readonly #texts = new GrowingTexts();
  readonly #openCalls = new Set<string>();
  readonly #changed = new Set<string>();
  #answer: string | undefined;
  #openLine = false;
  #plan = "";
  #failure: string | null = null;

  constructor(options: ExecStreamOptions = {}) {
    this.#options = options;
  }

  /** The events of one line; a line that is not JSON is what some program printed. */
  read(line: string): AdapterEvent[] {
    return jsonLineEvents(line, (fields) => this.#event(fields));
  }

  /** Returns the events left when the program has ended: a failure that no failed turn followed. */
  end(): AdapterEvent[] {
    const message = this.#failure;
    this.#failure = null;
    return message === null ? [] : [failureOf(message)];
  }

  /** Null for what it does not know. */
  #event(line: JsonFields): AdapterEvent[] | null {
    switch (line["type"]) {
      case "thread.started": {
        const id = stringOf(line["thread_id"]);
        const { model } = this.#options;
        return id === null
          ? null
          : [{ type: "agent_info", agent_session_id: id, ...(model === undefined ? {} : { model }) }];
      }
      case "turn.started":
        return [];
      case "turn.completed":
        return this.#completed(fieldsOf(line["usage"]));
      case "turn.failed":
        return this.#failed(fieldsOf(line["error"]));
      case "error":
        return this.#error(stringOf(line["message"]));
      case "item.started":
      case "item.updated":
      case "item.completed": {
        const item = fieldsOf(line["item"]);
        return item && this.#item(item, line["type"] === "item.completed");
      }
      default:
        return null;
    }
  }

  #completed(usage: JsonFields | null): AdapterEvent[] {
    const done: AdapterEvent = {
      type: "completed",
      success: true,
      files_changed: [...this.#changed],
      tokens_used: null,
      cost: null,
      ...(this.#answer === undefined ? {} : { output: this.#answer }),
    };
    const passed: AdapterEvent[] = this.#failure === null ? [] : [{ type: "progress", message: this.#failure }];
    this.#failure = null;
    if (!usage) return [...passed, done];
    const { model, resumed = false } = this.#options;
    const figure = (name: string) => (resumed ? null : countOf(usage[name]));
    return [...passed, {
      type: "usage",
      scope: "session",
      tokens_in: figure("input_tokens"),
      tokens_out: figure("output_tokens"),
      tokens_cached: figure("cached_input_tokens"),
      cost: null,
      ...(model === undefined ? {} : { model }),
    }, done];
  }

  #failed(error: JsonFields | null): AdapterEvent[] {
    const message = (error && stringOf(error["message"])) ?? this.#failure ?? "Codex says that the turn failed.";
    const before = this.#failure;
    this.#failure = null;
    // The same words came as an error a line before.
    const lost: AdapterEvent[] = before === null || before === message ? [] : [{ type: "progress", message: before }];
    return [...lost, failureOf(message)];
  }

  /** Held back, because the failed turn that follows says the same again. */
  #error(message: string | null): AdapterEvent[] | null {
    if (message === null) return null;
    if (isRetry(message)) return [{ type: "progress", message }];
    const before = this.#failure;
    this.#failure = message;
    return before === null || before === message ? [] : [{ type: "progress", message: before }];
  }

  #item(item: JsonFields, done: boolean): AdapterEvent[] | null {
    const id = stringOf(item["id"]);
    if (id === null) return null;
    switch (item["type"]) {
      case "agent_message":
        return this.#message(id, { text: stringOf(item["text"]), done });
      case "reasoning":
        return this.#thought(id, { text: stringOf(item["text"]), done });
      case "todo_list":
        return this.#todos(item);
      case "error": {
        const message = stringOf(item["message"]);
        return message === null ? null : [{ type: "progress", message }];
      }
      default:
        return this.#tool(id, { item, done });
    }
  }

  #message(id: string, { text, done }: { text: string | null; done: boolean }): AdapterEvent[] | null {
    if (text === null) return null;
    const fresh = this.#texts.take(id, text);
    if (done) {
      this.#answer = text;
      this.#texts.close(id);
    }
    const begins = fresh === text;
    const gap = begins && this.#openLine ? "\n" : "";
    if (fresh === "") return [];
    this.#openLine = !fresh.endsWith("\n");
    return [{ type: "output", stream: "stdout", data: gap + fresh }];
  }

  #thought(id: string, { text, done }: { text: string | null; done: boolean }): AdapterEvent[] | null {
    if (text === null) return null;
    const content = this.#texts.take(id, text);
    if (done) this.#texts.close(id);
    return content === "" ? [] : [{ type: "thinking", content }];
  }

  #todos(item: JsonFields): AdapterEvent[] | null {
    const entries = listOf(item["items"]).map((entry): PlanEntry | null => {
      const fields = fieldsOf(entry);
      const content = fields && stringOf(fields["text"]);
      return content === null ? null : { content, status: fields?.["completed"] === true ? "completed" : "pending" };
    });
    if (!entries.every((entry) => entry !== null)) return null;
    const plan = JSON.stringify(entries);
    if (plan === this.#plan) return [];
    this.#plan = plan;
    return [{ type: "plan", entries }];
  }

  #tool(id: string, { item, done }: { item: JsonFields; done: boolean }): AdapterEvent[] | null {
    const use = toolUseOf(item);
    if (!use) return null;
    const { tool, kind, input, output } = use;
    const events: AdapterEvent[] = [];
    if (!this.#openCalls.has(id)) events.push({ type: "tool_call", call_id: id, tool, kind, input });
    this.#openCalls.add(id);
    if (!done) return events;
    this.#openCalls.delete(id);
    const success = succeeded(item);
    events.push({ type: "tool_result", call_id: id, tool, output, success, duration_ms: null });
    if (item["type"] !== "file_change" || !success) return events;
    const changes = fileChangesOf(item);
    for (const change of changes) if (change.type === "file_change") this.#changed.add(change.path);
    return [...events, ...changes];
  }
}
