import {
  type AdapterEvent,
  countOf,
  fieldsOrNone,
  type JsonFields,
  parseJson,
  type RateLimitDetector,
  textOf,
  type UsageEvent,
} from "bulkhead/plugin-sdk";
import { failureEvents } from "./failures.ts";

/** Turns the data of a stream's events into the session's events, and knows how the answer ended. */
export class MessageStream {
  readonly #detector: RateLimitDetector;
  readonly #isData: boolean;
  #said = "";
  #usage: JsonFields = {};
  #model: string | undefined;
  #stopReason: string | null = null;
  #done = false;
  #failure: AdapterEvent[] | null = null;

  /** @param options.isData whether the API holds the answer to a schema: it is data */
  constructor(detector: RateLimitDetector, { isData = false }: { isData?: boolean } = {}) {
    this.#detector = detector;
    this.#isData = isData;
  }

  /** Nothing that follows counts. */
  get over(): boolean {
    return this.#done || this.#failure !== null;
  }

  /** The events of one event's data. */
  take(data: string): AdapterEvent[] {
    if (this.over) return [];
    const value = parseJson(data);
    if (value === undefined) {
      this.#failure = failed("malformed_stream", "The API sent something in its stream that is not JSON.");
      return [{ type: "unparsed", data }];
    }
    return this.#event(fieldsOrNone(value), { value, data });
  }

  /** Takes what the end of the stream left: a part of an event says that the stream was cut. */
  takeLast(data: string): AdapterEvent[] {
    return parseJson(data) === undefined ? [] : this.take(data);
  }

  /** The last events: usage where it was told, then how it ended. */
  ending(): AdapterEvent[] {
    const usage = this.#usageEvent();
    return [...(usage === null ? [] : [usage]), ...(this.#failure ?? this.#ended(usage))];
  }

  #event(event: JsonFields, { value, data }: { value: unknown; data: string }): AdapterEvent[] {
    switch (event["type"]) {
      case "message_start": {
        const message = fieldsOrNone(event["message"]);
        this.#model = textOf(message["model"]);
        this.#usage = fieldsOrNone(message["usage"]);
        return [];
      }
      case "content_block_start":
        return this.#part(event["content_block"], value);
      case "content_block_delta":
        return this.#part(event["delta"], value);
      case "message_delta":
        this.#stopReason = textOf(fieldsOrNone(event["delta"])["stop_reason"]) ?? this.#stopReason;
        // Later counts are of the whole message and replace the earlier ones; null says nothing.
        this.#usage = { ...this.#usage, ...knownOf(fieldsOrNone(event["usage"])) };
        return [];
      case "message_stop":
        this.#done = true;
        return [];
      case "content_block_stop":
      case "ping":
        return [];
      case "error":
        this.#failure = failureEvents({ status: 0, headers: {}, body: data }, this.#detector);
        return [];
      default:
        return [{ type: "unparsed", data: value }];
    }
  }

  #part(part: unknown, event: unknown): AdapterEvent[] {
    const events = shown(fieldsOrNone(part)) ?? [{ type: "unparsed", data: event }];
    if (this.#isData) { for (const one of events) this.#said += one.type === "output" ? one.data : ""; }
    return events;
  }

  #ended(usage: UsageEvent | null): AdapterEvent[] {
    switch (this.#stopReason) {
      case "refusal":
        return failed("refused", "The model refused to answer.");
      case "max_tokens":
        return failed("output_limit", "The answer stopped at the limit of tokens and is not complete.");
      case "model_context_window_exceeded":
        return failed("context_overflow", "The answer filled the model's context and is not complete.");
    }
    if (!this.#done) return failed("crash", "The API ended its stream in the middle of the answer.", true);
    const { tokens_in = null, tokens_out = null } = usage ?? {};
    const tokens_used = tokens_in === null || tokens_out === null ? null : tokens_in + tokens_out;
    const data = this.#isData ? parseJson(this.#said) : undefined;
    const more = data === undefined ? {} : { structured_output: data };
    return [{ type: "completed", success: true, files_changed: [], tokens_used, cost: null, ...more }];
  }

  /** The API counts cached input beside the other; here it is a part of it. */
  #usageEvent(): UsageEvent | null {
    const fresh = countOf(this.#usage["input_tokens"]);
    const tokens_out = countOf(this.#usage["output_tokens"]);
    if (fresh === null && tokens_out === null) return null;
    const tokens_cached = countOf(this.#usage["cache_read_input_tokens"]);
    const written = countOf(this.#usage["cache_creation_input_tokens"]) ?? 0;
    return {
      type: "usage",
      scope: "session",
      tokens_in: fresh === null ? null : fresh + written + (tokens_cached ?? 0),
      tokens_out,
      tokens_cached,
      // The host knows the price of the access mode's model.
      cost: null,
      ...(this.#model === undefined ? {} : { model: this.#model }),
    };
  }
}

/** Returns the events of a block's beginning or of an addition to it; null for an unknown kind. */
function shown(part: JsonFields): AdapterEvent[] | null {
  switch (part["type"]) {
    case "text":
    case "text_delta": {
      const data = textOf(part["text"]);
      return data === undefined ? [] : [{ type: "output", stream: "stdout", data }];
    }
    case "thinking":
    case "thinking_delta": {
      const content = textOf(part["thinking"]);
      return content === undefined ? [] : [{ type: "thinking", content }];
    }
    // Thinking that only the API itself may read, and its proofs of it.
    case "redacted_thinking":
    case "signature_delta":
      return [];
    default:
      return null;
  }
}

function knownOf(fields: JsonFields): JsonFields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

function failed(code: string, message: string, recoverable = false): AdapterEvent[] {
  return [{ type: "error", code, message, recoverable }];
}
