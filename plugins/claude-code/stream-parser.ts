import {
  type AdapterEvent,
  type BackgroundTask,
  fieldsOf,
  type JsonFields,
  numberOf,
  objectsOf,
  parseJsonLine,
  textOf,
  withoutControls,
} from "bulkhead/plugin-sdk";
import { BackgroundTasks } from "./background-tasks.ts";
import { ControlRequests } from "./control-requests.ts";
import { endingEvents } from "./ending.ts";
import { GivenPrompts } from "./given-prompts.ts";
import { HelperAgents, namedFor, ofHelper } from "./sub-agents.ts";
import { McpServerStates } from "./mcp-server-states.ts";
import { plainContent, SpokenText } from "./spoken-text.ts";
import { systemEvents } from "./system-events.ts";
import { GivenTerms } from "./turn-terms.ts";
import { ToolEvents } from "./tool-events.ts";
import { SessionCounts, TurnCounts } from "./usage.ts";

/**
 * Turns the lines of `--output-format stream-json` into events, with what it must remember of a session between them.
 * A message of a kind that it does not know becomes `unparsed`, and so does JSON that cannot be read.
 */
export class StreamParser {
  readonly terms: GivenTerms = new GivenTerms();
  readonly control: ControlRequests = new ControlRequests(() => this.terms.plans);
  readonly prompts: GivenPrompts = new GivenPrompts();
  readonly #spoken = new SpokenText();
  readonly #tools = new ToolEvents();
  readonly #servers = new McpServerStates();
  #known = "";
  #failure: string | null = null;
  #limitEndsAt: number | null = null;
  #turn = new TurnCounts();
  readonly #tasks = new BackgroundTasks();
  readonly #helpers = new HelperAgents();
  readonly #counts: SessionCounts;
  #hasResult = false;
  #tellsEnd = false;
  /** The last message of the model. */
  #lastMessage: string | undefined;

  /** @param options.resumed whether the agent's session had turns before: its totals may then count those too */
  constructor({ resumed = false }: { resumed?: boolean } = {}) {
    this.#counts = new SessionCounts({ resumed });
  }

  /** Begins a turn: counts and results are its own. `kept`: its end may be gone on from. */
  beginTurn({ kept }: { kept: boolean }): void {
    this.#tellsEnd = kept;
    this.#failure = null;
    this.#limitEndsAt = null;
    this.#hasResult = false;
    this.#counts.beginTurn();
    this.#tools.beginTurn();
  }

  /** The tasks that run in the background. */
  get tasks(): BackgroundTask[] {
    return this.#tasks.open;
  }

  /** The events of one line. */
  parse(line: string): AdapterEvent[] {
    if (line.trim() === "") return [];
    const message = fieldsOf(parseJsonLine(line));
    if (message === null) {
      if (withoutControls(line).startsWith("{")) return [{ type: "unparsed", data: line }];
      return [{ type: "output", stream: "stdout", data: `${line}\n` }];
    }
    const events = this.#message(message) ?? unknown(message);
    return message["type"] === "result" ? [...this.#turn.take(), ...events] : events;
  }

  /** The events of one message; null for one of an unknown kind. */
  #message(message: JsonFields): AdapterEvent[] | null {
    switch (message["type"]) {
      case "stream_event":
        // Pieces of a helper agent's message are not told apart from ours by their place; its whole blocks are.
        return helperOf(message) === undefined ? this.#piece(fieldsOf(message["event"]) ?? {}) : [];
      case "assistant":
        return this.#assistant(message);
      case "user":
        return this.#user(message);
      case "system":
        return this.#system(message);
      case "result":
        this.prompts.gaveResult({ failed: message["is_error"] === true });
        return this.#result(message);
      case "command_lifecycle":
        return this.prompts.take(message);
      case "rate_limit_event":
        return this.#limit(fieldsOf(message["rate_limit_info"]) ?? {});
      case "control_request":
        return this.#control(message);
      case "control_response":
        return fieldsOf(message["response"])?.["subtype"] === "success" ? [] : null;
      case "control_cancel_request":
        return this.control.withdraw(textOf(message["request_id"]) ?? "");
      case "tool_progress":
        return [{ type: "progress", message: `${textOf(message["tool_name"]) ?? "A tool"} is at work.` }];
      case "keep_alive":
        return [];
      default:
        return null;
    }
  }

  #system(message: JsonFields): AdapterEvent[] | null {
    this.#tasks.take(message);
    if (message["subtype"] === "init") return this.#init(message);
    const events = systemEvents(message);
    return events && [...this.#helpers.take(message), ...events];
  }

  #control(message: JsonFields): AdapterEvent[] | null {
    const helper = this.#helpers.ofRequest(fieldsOf(message["request"]) ?? {});
    const events = this.control.take(message);
    return events && ofHelper(helper, namedFor(this.#helpers.nameOf(helper), events));
  }

  #result(message: JsonFields): AdapterEvent[] {
    const events = endingEvents(message, {
      kind: this.#failure,
      limitEndsAt: this.#limitEndsAt,
      filesChanged: this.#tools.filesChanged,
      counts: this.#counts,
    });
    // One of no turn is about no work, and so takes nothing from the result of a turn before.
    if (this.#hasResult && numberOf(message["num_turns"]) === 0 && !numberOf(message["duration_ms"])) {
      const last = events.at(-1);
      return [{ type: "progress", message: `It gave a result of no turn: ${lastText(last) || "without a word"}.` }];
    }
    this.#hasResult ||= events.at(-1)?.type === "completed";
    if (!this.#tellsEnd || this.#lastMessage === undefined) return events;
    const agent_ref = this.#lastMessage;
    return events.map((event) => event.type === "completed" ? { ...event, agent_ref } : event);
  }

  #init(message: JsonFields): AdapterEvent[] {
    this.prompts.began();
    this.#tools.cwd = textOf(message["cwd"]) ?? "";
    const [id, version, model] = ["session_id", "claude_code_version", "model"].map((key) => textOf(message[key]));
    const tools = Array.isArray(message["tools"]) ? message["tools"].map(String) : undefined;
    const info: AdapterEvent = {
      type: "agent_info",
      ...(id === undefined ? {} : { agent_session_id: id }),
      ...(version === undefined ? {} : { agent_version: version }),
      ...(model === undefined ? {} : { model }),
      ...(tools === undefined ? {} : { tools }),
    };
    // It says so again before each turn.
    const known = JSON.stringify(info);
    const failed = this.#servers.failed(message["mcp_servers"]);
    if (known === this.#known) return failed;
    this.#known = known;
    return [info, ...failed];
  }

  #piece(event: JsonFields): AdapterEvent[] | null {
    switch (event["type"]) {
      case "message_start": {
        const begun = fieldsOf(event["message"]) ?? {};
        this.#spoken.begin(begun["id"]);
        return this.#turn.begin(begun);
      }
      case "content_block_start":
        return this.#spoken.beginBlock(event["index"], fieldsOf(event["content_block"]));
      case "content_block_delta": {
        const delta = fieldsOf(event["delta"]) ?? {};
        // A tool's input, a signature and citations come again in the whole block.
        return this.#spoken.piece(event["index"], delta) ?? [];
      }
      case "message_delta":
        this.#turn.add(fieldsOf(event["usage"]));
        return [];
      case "message_stop":
        return this.#turn.take();
      case "content_block_stop":
      case "ping":
        return [];
      default:
        return null;
    }
  }

  #assistant(message: JsonFields): AdapterEvent[] | null {
    const said = fieldsOf(message["message"]);
    const content = said && contentOf(said["content"]);
    if (!said || !content) return null;
    this.#failure = textOf(message["error"]) ?? null;
    // The program repeats in its result any failure that it reports in the model's place.
    const failed = message["is_api_error_message"] === true || said["model"] === "<synthetic>";
    const helper = helperOf(message);
    if (helper === undefined) this.#lastMessage = textOf(message["uuid"]) ?? this.#lastMessage;
    const events = content.flatMap((block): AdapterEvent[] => {
      if (failed && block["type"] === "text") return [{ type: "progress", message: textOf(block["text"]) ?? "" }];
      const spoken = helper === undefined ? this.#spoken.whole(said["id"], block) : helperWords(block);
      this.#helpers.called(block, helper);
      return spoken ?? this.#tools.call(block, message["timestamp"]) ?? this.#tools.result(block, message) ??
        unknown(block);
    });
    return this.#by(helper, events);
  }

  #user(message: JsonFields): AdapterEvent[] | null {
    const said = fieldsOf(message["message"]);
    const content = said && contentOf(said["content"]);
    if (!content) return null;
    const helper = helperOf(message);
    const events = content.flatMap((block): AdapterEvent[] => {
      // Text of the program in the user's place; the prompt of a helper agent stands in the call that began it.
      if (block["type"] === "text") {
        return helper === undefined ? [{ type: "progress", message: String(plainContent([block])) }] : [];
      }
      const results = this.#tools.result(block, message);
      return results ? [...results, ...this.#helpers.answered(block, message)] : unknown(block);
    });
    return this.#by(helper, events);
  }

  #by(helper: string | undefined, events: AdapterEvent[]): AdapterEvent[] {
    return helper === undefined ? events : [...this.#helpers.works(helper), ...ofHelper(helper, events)];
  }

  #limit(info: JsonFields): AdapterEvent[] {
    const name = textOf(info["rateLimitType"])?.replaceAll("_", " ") ?? "plan";
    const endsAt = numberOf(info["resetsAt"]);
    if (info["status"] === "rejected") {
      this.#limitEndsAt = endsAt === null ? null : endsAt * 1000;
      return [{ type: "progress", message: `The ${name} limit is reached.` }];
    }
    const used = numberOf(info["utilization"]);
    if (info["status"] !== "allowed_warning" || used === null) return [];
    return [{ type: "progress", message: `${Math.round(used * 100)} % of the ${name} limit are used.` }];
  }
}

/** The blocks of a message, which may be one text as well; null for any other form. */
function contentOf(content: unknown): JsonFields[] | null {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? objectsOf(content) : null;
}

/** Returns the helper agent whose message it is, by the tool call that began it; undefined for one of ours. */
function helperOf(message: JsonFields): string | undefined {
  return textOf(message["parent_tool_use_id"]);
}

/** Reports a helper agent's words as progress: they are no part of the answer. */
function helperWords(block: JsonFields): AdapterEvent[] | null {
  const type = block["type"];
  if (type !== "text" && type !== "thinking") return type === "redacted_thinking" ? [] : null;
  const text = textOf(block[type]);
  return text === undefined ? [] : [{ type: "progress", message: text }];
}

function lastText(last: AdapterEvent | undefined): string | undefined {
  return last?.type === "error" ? last.message : last?.type === "completed" ? last.output : undefined;
}

function unknown(data: JsonFields): AdapterEvent[] {
  return [{ type: "unparsed", data }];
}
