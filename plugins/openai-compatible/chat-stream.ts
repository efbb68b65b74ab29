import {
  type AdapterEvent,
  countOf,
  fieldsOrNone,
  type JsonFields,
  numberOf,
  parseJson,
  type RateLimitDetector,
  textOf,
  type UsageEvent,
} from "bulkhead/plugin-sdk";
import type { Access, Prices } from "./access.ts";
import { readDelta } from "./delta.ts";
import { failureEvents } from "./failures.ts";

/** Ends of an answer, in the servers' words, that leave it unfinished. */
const unfinishedBy: Readonly<Record<string, [code: string, message: string, recoverable?: boolean]>> = {
  content_filter: ["refused", "The model refused to answer, or its answer was filtered."],
  length: ["output_limit", "The answer stopped at the limit of tokens and is not complete."],
  model_length: ["output_limit", "The answer stopped at the limit of tokens and is not complete."],
  tool_calls: ["unsupported", "The answer ended in a call of a tool, and no tool was offered."],
  function_call: ["unsupported", "The answer ended in a call of a tool, and no tool was offered."],
  error: ["crash", "The server failed in the middle of the answer.", true],
};

/** Options of {@link ChatStream}. */
interface ChatStreamOptions {
  prices: Access["prices"];
  detector: RateLimitDetector;
  /** The server holds the answer to a schema: it is data. */
  isData?: boolean;
}

/** Turns the data of a stream's events into the session's events, and knows how the answer ended. */
export class ChatStream {
  readonly #options: ChatStreamOptions;
  #usage: UsageEvent | null = null;
  #model: string | undefined;
  #finish: string | null = null;
  #refused = false;
  #answered = false;
  #said = "";
  #done = false;
  #failure: AdapterEvent[] | null = null;

  constructor(options: ChatStreamOptions) {
    this.#options = options;
  }

  /** Nothing that follows counts. */
  get over(): boolean {
    return this.#done || this.#failure !== null;
  }

  /** The events of one event's data. */
  take(data: string): AdapterEvent[] {
    if (this.over) return [];
    if (data.trim() === "[DONE]") {
      this.#done = true;
      return [];
    }
    const value = parseJson(data);
    if (value === undefined) {
      this.#fail("malformed_stream", "The server sent something in its stream that is not JSON.");
      return [{ type: "unparsed", data }];
    }
    return this.#chunk(value, data);
  }

  /** Takes what the end of the stream left: a part of a chunk says that the stream was cut. */
  takeLast(data: string): AdapterEvent[] {
    return data.trim() === "[DONE]" || parseJson(data) !== undefined ? this.take(data) : [];
  }

  /** The last events: usage where it was told, then how it ended. */
  ending(): AdapterEvent[] {
    const usage = this.#usage === null ? [] : [this.#usage];
    return [...usage, ...(this.#failure ?? this.#ended())];
  }

  #ended(): AdapterEvent[] {
    const finish = this.#refused ? "content_filter" : this.#finish ?? "";
    const unfinished = Object.hasOwn(unfinishedBy, finish) ? unfinishedBy[finish] : undefined;
    if (unfinished) return failed(...unfinished);
    // Some servers never say how an answer ends, but one that said nothing at all gave none.
    if (this.#finish === null && !(this.#done && this.#answered)) {
      return failed("crash", "The server ended its stream in the middle of the answer.", true);
    }
    const { tokens_in = null, tokens_out = null, cost = null } = this.#usage ?? {};
    const tokens_used = tokens_in === null || tokens_out === null ? null : tokens_in + tokens_out;
    const data = this.#options.isData ? parseJson(this.#said) : undefined;
    const more = data === undefined ? {} : { structured_output: data };
    return [{ type: "completed", success: true, files_changed: [], tokens_used, cost, ...more }];
  }

  #fail(code: string, message: string): void {
    this.#failure = failed(code, message);
  }

  #chunk(value: unknown, data: string): AdapterEvent[] {
    const chunk = fieldsOrNone(value);
    if (chunk["error"] || chunk["object"] === "error") {
      this.#failure = failureEvents({ status: 0, headers: {}, body: data }, this.#options.detector);
      return [];
    }
    this.#model = textOf(chunk["model"]) ?? this.#model;
    const hasUsage = Object.keys(fieldsOrNone(chunk["usage"])).length > 0;
    if (hasUsage) this.#usage = this.#usageOf(fieldsOrNone(chunk["usage"]));
    const choices = chunk["choices"];
    if (!Array.isArray(choices)) return hasUsage ? [] : [{ type: "unparsed", data: value }];
    return choices.flatMap((choice) => this.#choice(fieldsOrNone(choice), value));
  }

  /** A server that does not stream gives the whole `message` where others give a `delta`. */
  #choice(choice: JsonFields, chunk: unknown): AdapterEvent[] {
    const kept: AdapterEvent = { type: "unparsed", data: chunk };
    // One answer is asked for; the pieces of another one would be words between its words.
    if ((numberOf(choice["index"]) ?? 0) > 0) return [kept];
    const { events, refused, odd } = readDelta(fieldsOrNone(choice["delta"] ?? choice["message"]));
    this.#refused ||= refused;
    this.#answered ||= events.length > 0;
    if (this.#options.isData) { for (const event of events) this.#said += event.type === "output" ? event.data : ""; }
    this.#finish = textOf(choice["finish_reason"]) ?? this.#finish;
    return odd ? [...events, kept] : events;
  }

  #usageOf(usage: JsonFields): UsageEvent {
    const { prices } = this.#options;
    const tokens_in = countOf(usage["prompt_tokens"]);
    const tokens_out = countOf(usage["completion_tokens"]);
    const tokens_cached = countOf(fieldsOrNone(usage["prompt_tokens_details"])["cached_tokens"]);
    const cost = prices === null ? null : costOf({ tokens_in, tokens_out, tokens_cached }, prices);
    return {
      type: "usage",
      scope: "session",
      tokens_in,
      tokens_out,
      tokens_cached,
      cost,
      ...(cost !== null && prices !== null && prices.currency !== null ? { currency: prices.currency } : {}),
      ...(this.#model === undefined ? {} : { model: this.#model }),
    };
  }
}

/** Null where a count or the price of it is unknown. */
function costOf(
  { tokens_in, tokens_out, tokens_cached }: Pick<UsageEvent, "tokens_in" | "tokens_out" | "tokens_cached">,
  prices: Prices,
): number | null {
  if (tokens_in === null || tokens_out === null) return null;
  const cached = Math.min(tokens_cached ?? 0, tokens_in);
  if (cached > 0 && prices.cached === null) return null;
  return ((tokens_in - cached) * prices.input + cached * (prices.cached ?? 0) + tokens_out * prices.output) / 1000;
}

function failed(code: string, message: string, recoverable = false): AdapterEvent[] {
  return [{ type: "error", code, message, recoverable }];
}
