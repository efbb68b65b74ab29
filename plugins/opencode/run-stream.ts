import {
  type AdapterEvent,
  countOf,
  type ErrorEvent,
  fieldsOf,
  fieldsOrNone,
  type JsonFields,
  jsonLineEvents,
  stringOf,
} from "bulkhead/plugin-sdk";
import { type Failure, failureOf } from "./failures.ts";
import { toolUseOf } from "./tools.ts";

/** Turns the lines of `opencode run --format json` into events, one session long. */
export class RunStream {
  readonly #model: string | undefined;
  readonly #changed = new Set<string>();
  readonly #callIds = new Map<string, number>();
  #session: string | null = null;
  /** Text of the agent in its current step. */
  #answer = "";
  #openLine = false;
  /** How the last step ended, in the program's words. */
  #finish: string | null = null;
  #rejected = false;
  #failure: Failure | null = null;

  /** Whether the program called its model for what its lines do not count: a new session's title, or a sub-agent. */
  #callsBesides: boolean;

  /** @param model The one that was asked for; the stream itself names none. */
  constructor({ model, isNew = false }: { model?: string | undefined; isNew?: boolean } = {}) {
    this.#model = model;
    this.#callsBesides = isNew;
  }

  /** The events of one line; a line that is not JSON is what some program printed. */
  read(line: string): AdapterEvent[] {
    return jsonLineEvents(line, (fields) => {
      const events = this.#event(fields) ?? [{ type: "unparsed", data: fields }];
      return [...this.#begun(fields), ...events];
    });
  }

  /** The last word, once the program has ended: its lines say how each step ended, and not that no other one follows. */
  end(): AdapterEvent[] {
    if (this.#failure) return failed(this.#failure);
    const [finish, rejected] = [this.#finish, this.#rejected];
    if (finish === "stop") return [this.#completed()];
    if (finish === "length") return [error("output_limit", "The answer was cut at the model's limit of tokens.")];
    if (finish === "content-filter") return [error("refused", "The provider's filter stopped the answer.")];
    if (rejected) return [error("refused", "OpenCode ended its turn: no person is there to permit a tool's request.")];
    return [];
  }

  /** Every line names the session; the first one that does tells it. */
  #begun(line: JsonFields): AdapterEvent[] {
    const session = stringOf(line["sessionID"]);
    if (session === null || this.#session !== null) return [];
    this.#session = session;
    const model = this.#model === undefined ? {} : { model: this.#model };
    return [{ type: "agent_info", agent_session_id: session, ...model }];
  }

  /** Null for what it does not know. */
  #event(line: JsonFields): AdapterEvent[] | null {
    if (line["type"] === "error") return this.#error(fieldsOf(line["error"]));
    const part = fieldsOf(line["part"]);
    if (!part) return null;
    switch (line["type"]) {
      case "step_start":
        this.#answer = "";
        this.#finish = null;
        return [];
      case "text":
        return this.#text(stringOf(part["text"]));
      case "reasoning": {
        const content = stringOf(part["text"]);
        return content === null ? null : content === "" ? [] : [{ type: "thinking", content }];
      }
      case "tool_use":
        return this.#toolUse(part);
      case "step_finish":
        return this.#stepFinish(part);
      default:
        return null;
    }
  }

  #text(text: string | null): AdapterEvent[] | null {
    if (text === null) return null;
    if (text === "") return [];
    const gap = this.#openLine ? "\n" : "";
    this.#answer += (this.#answer === "" ? "" : gap) + text;
    this.#openLine = !text.endsWith("\n");
    return [{ type: "output", stream: "stdout", data: gap + text }];
  }

  #toolUse(part: JsonFields): AdapterEvent[] | null {
    const use = toolUseOf(part, (callId) => this.#distinct(callId));
    if (!use) return null;
    this.#rejected = use.rejected;
    this.#callsBesides ||= part["tool"] === "task";
    for (const event of use.events) if (event.type === "file_change") this.#changed.add(event.path);
    return use.events;
  }

  /** Ids of calls are the provider's, and some give each step's calls the same ones. */
  #distinct(callId: string): string {
    const times = (this.#callIds.get(callId) ?? 0) + 1;
    this.#callIds.set(callId, times);
    return times === 1 ? callId : `${callId}#${times}`;
  }

  #stepFinish(part: JsonFields): AdapterEvent[] | null {
    const reason = stringOf(part["reason"]);
    if (reason === null) return null;
    this.#finish = reason;
    // An earlier failure was repaired: a context that was too long is made shorter, for example.
    return [...this.#held(null), ...this.#usage(fieldsOf(part["tokens"]), part["cost"])];
  }

  #usage(tokens: JsonFields | null, cost: unknown): AdapterEvent[] {
    if (!tokens) return [];
    const cache = fieldsOrNone(tokens["cache"]);
    return [{
      type: "usage",
      scope: "turn",
      // Input is what no cache had; thoughts are paid as output.
      tokens_in: sum(countOf(tokens["input"]), countOf(cache["read"]), countOf(cache["write"])),
      tokens_out: sum(countOf(tokens["output"]), countOf(tokens["reasoning"])),
      tokens_cached: countOf(cache["read"]),
      // It says 0 of a model whose price it does not know as well.
      ...(typeof cost === "number" && cost > 0 ? { cost, currency: "USD" } : { cost: null }),
      ...(this.#model === undefined ? {} : { model: this.#model }),
      ...(this.#callsBesides ? { partial: true } : {}),
    }];
  }

  /** Held back, because it may be said twice, and because a step may follow that does well. */
  #error(fields: JsonFields | null): AdapterEvent[] | null {
    const failure = fields && failureOf(fields);
    return failure && this.#held(failure);
  }

  /** Holds a failure back, and gives the one before as something that passed. */
  #held(failure: Failure | null): AdapterEvent[] {
    const before = this.#failure;
    this.#failure = failure;
    if (!before || before.error.message === failure?.error.message) return [];
    return [{ type: "progress", message: before.error.message }];
  }

  #completed(): AdapterEvent {
    return {
      type: "completed",
      success: true,
      ...(this.#answer === "" ? {} : { output: this.#answer }),
      files_changed: [...this.#changed],
      tokens_used: null,
      cost: null,
    };
  }
}

/** A rate limit tells how long to wait, where the provider said it. */
function failed({ error, waitMs }: Failure): AdapterEvent[] {
  if (error.code !== "rate_limit" || waitMs === null) return [error];
  return [{ type: "rate_limit", message: error.message, wait_ms: waitMs }, error];
}

function error(code: string, message: string): ErrorEvent {
  return { type: "error", code, message, recoverable: false };
}

function sum(...counts: (number | null)[]): number | null {
  const known = counts.filter((count) => count !== null);
  return known.length === 0 ? null : known.reduce((total, count) => total + count, 0);
}
