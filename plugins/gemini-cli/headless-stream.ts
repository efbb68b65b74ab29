import { type AdapterEvent, countOf, fieldsOf, type JsonFields, jsonLineEvents, stringOf } from "bulkhead/plugin-sdk";
import { failureOf } from "./failures.ts";
import { effectsOf, kindOf } from "./tools.ts";

interface OpenCall {
  tool: string;
  parameters: JsonFields;
}

/** Turns the lines of `--output-format stream-json` into events, one session long. */
export class HeadlessStream {
  readonly #openCalls = new Map<string, OpenCall>();
  readonly #changed = new Set<string>();
  #model: string | undefined;
  /** Text of the agent since its last tool call. */
  #text = "";
  #openLine = false;
  #failure: string | null = null;

  /** Returns the events of one line; a line that is not JSON is output that some program printed. */
  read(line: string): AdapterEvent[] {
    return jsonLineEvents(line, (fields) => this.#event(fields));
  }

  /** Returns the events left when the program has ended: an error that no result followed. */
  end(): AdapterEvent[] {
    const message = this.#failure;
    this.#failure = null;
    return message === null ? [] : [failureOf(message)];
  }

  /** Null for what it does not know. */
  #event(line: JsonFields): AdapterEvent[] | null {
    switch (line["type"]) {
      case "init":
        return this.#init(line);
      case "message":
        return this.#message(line);
      case "tool_use":
        return this.#toolUse(line);
      case "tool_result":
        return this.#toolResult(line);
      case "error":
        return this.#error(line);
      case "result":
        return this.#result(line);
      default:
        return null;
    }
  }

  #init(line: JsonFields): AdapterEvent[] | null {
    const id = stringOf(line["session_id"]);
    const model = stringOf(line["model"]);
    if (id === null) return null;
    this.#model = model ?? undefined;
    return [{ type: "agent_info", agent_session_id: id, ...(model === null ? {} : { model }) }];
  }

  #message(line: JsonFields): AdapterEvent[] | null {
    const content = stringOf(line["content"]);
    // The prompt, said again.
    if (line["role"] === "user" && content !== null) return [];
    if (line["role"] !== "assistant" || content === null) return null;
    const whole = line["delta"] !== true;
    const fresh = whole && content.startsWith(this.#text) ? content.slice(this.#text.length) : content;
    if (fresh === "") return [];
    const gap = this.#text === "" && this.#openLine ? "\n" : "";
    this.#text += fresh;
    this.#openLine = !fresh.endsWith("\n");
    return [{ type: "output", stream: "stdout", data: gap + fresh }];
  }

  #toolUse(line: JsonFields): AdapterEvent[] | null {
    const [id, tool] = [stringOf(line["tool_id"]), stringOf(line["tool_name"])];
    if (id === null || tool === null) return null;
    const parameters = fieldsOf(line["parameters"]) ?? {};
    this.#openCalls.set(id, { tool, parameters });
    this.#text = "";
    return [{ type: "tool_call", call_id: id, tool, kind: kindOf(tool), input: line["parameters"] ?? null }];
  }

  #toolResult(line: JsonFields): AdapterEvent[] | null {
    const id = stringOf(line["tool_id"]);
    const call = id === null ? undefined : this.#openCalls.get(id);
    if (id === null || !call) return null;
    this.#openCalls.delete(id);
    this.#text = "";
    const success = line["status"] === "success";
    const error = fieldsOf(line["error"]);
    const output = line["output"] ?? (error && stringOf(error["message"]));
    const effects = success ? effectsOf(call.tool, call.parameters) : [];
    for (const effect of effects) if (effect.type === "file_change") this.#changed.add(effect.path);
    return [{ type: "tool_result", call_id: id, tool: call.tool, output, success, duration_ms: null }, ...effects];
  }

  /** An error is held back, because the result that follows may say more, or that all went well. */
  #error(line: JsonFields): AdapterEvent[] | null {
    const message = stringOf(line["message"]);
    if (message === null) return null;
    if (line["severity"] !== "error") return [{ type: "progress", message }];
    return this.#held(message);
  }

  #result(line: JsonFields): AdapterEvent[] | null {
    const stats = fieldsOf(line["stats"]) ?? {};
    if (line["status"] === "success") {
      return [...this.#held(null), ...this.#usage(stats), {
        type: "completed",
        success: true,
        ...(this.#text === "" ? {} : { output: this.#text }),
        files_changed: [...this.#changed],
        tokens_used: null,
        cost: null,
      }];
    }
    if (line["status"] !== "error") return null;
    const error = fieldsOf(line["error"]);
    const said = error && stringOf(error["message"]);
    const message = said ?? this.#failure ?? "Gemini CLI says that the session failed.";
    if (said === null || said === this.#failure) this.#failure = null;
    // A failed session that was cut off reports zero counts: they are unknown.
    const known = (countOf(stats["total_tokens"]) ?? 0) > 0;
    return [...this.#held(null), ...(known ? this.#usage(stats) : []), failureOf(message)];
  }

  /** Holds an error back, and gives the one before as something that passed. */
  #held(message: string | null): AdapterEvent[] {
    const before = this.#failure;
    this.#failure = message;
    return before === null || before === message ? [] : [{ type: "progress", message: before }];
  }

  #usage(stats: JsonFields): AdapterEvent[] {
    const input = countOf(stats["input_tokens"]);
    const output = countOf(stats["output_tokens"]);
    const total = countOf(stats["total_tokens"]);
    if (input === null && output === null) return [];
    // Thoughts are paid as output and stand in the total alone.
    const paid = input !== null && output !== null && total !== null ? Math.max(output, total - input) : output;
    return [{
      type: "usage",
      scope: "session",
      tokens_in: input,
      tokens_out: paid,
      tokens_cached: countOf(stats["cached"]),
      cost: null,
      ...(this.#model === undefined ? {} : { model: this.#model }),
    }];
  }
}
