import {
  type AdapterEvent,
  fieldsOf,
  fieldsOrNone,
  type JsonFields,
  objectsOf,
  type PlanEntry,
  stringOf,
  textOf,
} from "bulkhead/plugin-sdk";
import { failureOf, messageOf } from "./failures.ts";
import { Helpers } from "./sub-agents.ts";
import { isQuiet } from "./quiet-notices.ts";
import { StreamedTexts } from "./streamed-texts.ts";
import { TokenCounter } from "./token-counter.ts";
import { durationOf, fileChangesOf, succeeded, toolUseOf } from "./tool-items.ts";

/** A call that has no result yet. */
export interface OpenCall {
  call_id: string;
  tool: string;
  input: unknown;
}

const planStates: Readonly<Record<string, PlanEntry["status"]>> = {
  pending: "pending",
  inProgress: "in_progress",
  completed: "completed",
};

/** Turns Codex's messages about a thread into events, over all turns of a session. */
export class ThreadReader {
  readonly #texts = new StreamedTexts();
  readonly #tokens = new TokenCounter();
  readonly #helpers = new Helpers();
  readonly #turns = new Set<string>();
  readonly #openCalls = new Map<string, OpenCall>();
  /** Calls of which no more is told. */
  readonly #closedCalls = new Set<string>();
  readonly #changed = new Set<string>();
  #thread: string | null = null;
  #model: string | undefined;
  #turn: string | null = null;
  #answer: string | undefined;
  #openLine = false;
  #plan = "";
  /** Whether the end of a turn has a name, from which another session may go on. */
  tellsEnd = false;
  /** An error that may be the last word, or passes. */
  #failure: AdapterEvent & { type: "error" } | null = null;

  /** The turn under way; null between turns. */
  get turn(): string | null {
    return this.#turn;
  }

  /** The model that the thread began with, or was given since. */
  get model(): string | undefined {
    return this.#model;
  }

  /** The open calls, the newest last. */
  get openCalls(): readonly OpenCall[] {
    return [...this.#openCalls.values()];
  }

  /** The thread is open; what other threads say is said by helpers of the agent. */
  begin(thread: string, model: string | undefined): void {
    this.#thread = thread;
    this.#model = model;
  }

  /** A turn of this session begins. */
  beginTurn(turn: string): void {
    if (this.#turns.has(turn)) return;
    this.#turns.add(turn);
    this.#turn = turn;
    // What still runs of an earlier turn was that turn's.
    this.#closeCalls();
    this.#answer = undefined;
    this.#changed.clear();
    this.#failure = null;
  }

  /** Whether a turn is, or was, one of this session. */
  knows(turn: string | null): boolean {
    return turn !== null && this.#turns.has(turn);
  }

  /** Whether a message is told by a helper of the agent. */
  isHelpers({ threadId }: JsonFields): boolean {
    return this.#thread !== null && typeof threadId === "string" && threadId !== this.#thread;
  }

  /** Name for people of the helper that tells a message. */
  helperOf({ threadId }: JsonFields): string {
    return this.#helpers.nameOf(String(threadId));
  }

  /** The events of a notification; null for one that it does not know. */
  read(method: string, params: JsonFields): AdapterEvent[] | null {
    if (method === "thread/started") this.#helpers.noted(fieldsOrNone(params["thread"]), this.#thread);
    if (this.isHelpers(params)) return this.#helper(method, params);
    switch (method) {
      case "turn/completed":
        return this.#completed(fieldsOrNone(params["turn"]));
      case "item/started":
      case "item/completed": {
        const item = fieldsOf(params["item"]);
        return item && this.#item(item, method === "item/completed");
      }
      case "item/agentMessage/delta":
        return this.#delta(params, "output");
      case "item/reasoning/summaryTextDelta":
      case "item/reasoning/textDelta":
        return this.#delta(params, "thinking");
      case "item/reasoning/summaryPartAdded":
        return this.#part(params);
      case "thread/tokenUsage/updated":
        return this.#usage(params);
      case "turn/plan/updated":
        return this.#planned(params);
      case "error":
        return this.#error(params);
      default:
        return this.#notice(method, params);
    }
  }

  #completed({ id, status, error }: JsonFields): AdapterEvent[] {
    // A turn that was not asked for, or is long over.
    if (stringOf(id) !== this.#turn) return [];
    this.#turn = null;
    const failure = this.#failure;
    this.#failure = null;
    if (status === "failed") {
      const { codexErrorInfo, ...fields } = fieldsOrNone(error);
      const results = this.#closeCalls();
      const word = "message" in fields ? failureOf(messageOf(fields), codexErrorInfo) : failure;
      const last = word ?? failureOf(messageOf(fields));
      return failure === null || failure.message === last.message
        ? [...results, last]
        : [...results, passed(failure.message), last];
    }
    const before = failure === null ? [] : [passed(failure.message)];
    if (status !== "completed") {
      const [code, message] = status === "interrupted"
        ? ["interrupted", "The turn was stopped."]
        : ["fatal", `Codex ended its turn in a state that is not known: ${textOf(status)?.slice(0, 100) ?? "none"}.`];
      return [...before, ...this.#closeCalls(), { type: "error", code, message, recoverable: false }];
    }
    return [...before, {
      type: "completed",
      success: true,
      files_changed: [...this.#changed],
      tokens_used: null,
      cost: null,
      ...(this.#answer === undefined ? {} : { output: this.#answer }),
      ...(this.tellsEnd && typeof id === "string" ? { agent_ref: id } : {}),
    }];
  }

  #item(item: JsonFields, done: boolean): AdapterEvent[] | null {
    const id = stringOf(item["id"]);
    if (id === null) return null;
    switch (item["type"]) {
      case "userMessage": {
        // A word into the turn, which it has now.
        const message = textOf(item["clientId"]);
        return done || message === undefined ? [] : [{ type: "message", message_id: message, state: "taken" }];
      }
      case "hookPrompt":
      case "functionCallOutput":
      case "sleep":
        return [];
      case "agentMessage":
      case "plan":
        return done ? this.#message(id, stringOf(item["text"])) : [];
      case "reasoning":
        return done ? this.#thought(id, item) : [];
      case "contextCompaction":
        return done ? [passed("Codex made its conversation shorter.")] : [];
      case "subAgentActivity":
        return done ? this.#helpers.acted(item) : [];
      case "enteredReviewMode":
      case "exitedReviewMode":
        return done ? [passed(String(item["review"] ?? item["type"]))] : [];
      default:
        return this.#tool(id, { item, done });
    }
  }

  #message(id: string, text: string | null): AdapterEvent[] | null {
    if (text === null) return null;
    this.#answer = text;
    const isNew = this.#texts.isNew(id);
    const rest = this.#texts.end(id, text);
    return rest === "" ? [] : this.#said(rest, isNew);
  }

  #said(text: string, begins: boolean): AdapterEvent[] {
    const gap = begins && this.#openLine ? "\n" : "";
    this.#openLine = !text.endsWith("\n");
    return [{ type: "output", stream: "stdout", data: gap + text }];
  }

  #delta({ itemId, delta }: JsonFields, type: "output" | "thinking"): AdapterEvent[] | null {
    const id = stringOf(itemId);
    const text = stringOf(delta);
    if (id === null || text === null) return null;
    if (text === "") return [];
    const isNew = this.#texts.isNew(id);
    this.#texts.add(id, text);
    return type === "output" ? this.#said(text, isNew) : [{ type: "thinking", content: text }];
  }

  /** Parts of a summary stand apart. */
  #part({ itemId }: JsonFields): AdapterEvent[] {
    const id = stringOf(itemId);
    if (id === null || this.#texts.isNew(id)) return [];
    return [{ type: "thinking", content: this.#texts.add(id, "\n\n") }];
  }

  #thought(id: string, { summary, content }: JsonFields): AdapterEvent[] {
    const texts = (of: unknown) => (Array.isArray(of) ? of.filter((one) => typeof one === "string") : []).join("\n\n");
    const rest = this.#texts.end(id, texts(summary) || texts(content));
    return rest === "" ? [] : [{ type: "thinking", content: rest }];
  }

  #tool(id: string, { item, done }: { item: JsonFields; done: boolean }): AdapterEvent[] | null {
    if (this.#closedCalls.has(id)) return [];
    const use = toolUseOf(item);
    if (!use) return null;
    const { tool, kind, input, output } = use;
    const events: AdapterEvent[] = [];
    if (!this.#openCalls.has(id)) events.push({ type: "tool_call", call_id: id, tool, kind, input });
    this.#openCalls.set(id, { call_id: id, tool, input });
    if (!done) return events;
    this.#openCalls.delete(id);
    this.#closedCalls.add(id);
    const success = succeeded(item);
    events.push({ type: "tool_result", call_id: id, tool, output, success, duration_ms: durationOf(item) });
    if (item["type"] === "collabAgentToolCall" && success) return [...events, ...this.#helpers.called(item)];
    if (item["type"] !== "fileChange" || !success) return events;
    const changes = fileChangesOf(item);
    for (const change of changes) if (change.type === "file_change") this.#changed.add(change.path);
    return [...events, ...changes];
  }

  /** Ends the calls that got no result, and returns that. */
  #closeCalls(): AdapterEvent[] {
    const open = this.openCalls;
    this.#openCalls.clear();
    for (const { call_id } of open) this.#closedCalls.add(call_id);
    return open.map(({ call_id, tool }) => ({
      type: "tool_result",
      call_id,
      tool,
      output: null,
      success: false,
      duration_ms: null,
    }));
  }

  #usage(report: JsonFields): AdapterEvent[] {
    const turn = stringOf(report["turnId"]);
    const isEarlier = !this.isHelpers(report) && turn !== null && !this.#turns.has(turn);
    const tokens = this.#tokens.take(report, isEarlier);
    if (tokens === null) return [];
    if (this.isHelpers(report)) this.#helpers.used(String(report["threadId"]), tokens);
    return [{
      type: "usage",
      scope: "turn",
      tokens_in: tokens.in,
      tokens_out: tokens.out,
      tokens_cached: tokens.cached,
      cost: null,
      ...(this.#model === undefined ? {} : { model: this.#model }),
    }];
  }

  #planned(params: JsonFields): AdapterEvent[] | null {
    const entries = objectsOf(params["plan"]).map(({ step, status }): PlanEntry | null => {
      const content = stringOf(step);
      return content === null ? null : { content, status: planStates[stringOf(status) ?? ""] ?? "pending" };
    });
    if (!entries.every((entry) => entry !== null)) return null;
    const plan = JSON.stringify(entries);
    if (plan === this.#plan) return [];
    this.#plan = plan;
    return [{ type: "plan", entries }];
  }

  /** Held back, because the turn's own end says the same again. */
  #error({ error, willRetry }: JsonFields): AdapterEvent[] | null {
    const fields = fieldsOf(error);
    if (fields === null) return null;
    const said = messageOf(fields);
    if (willRetry === true) return [passed(said)];
    const before = this.#failure;
    this.#failure = failureOf(said, fields["codexErrorInfo"]);
    return before === null || before.message === said ? [] : [passed(before.message)];
  }

  /** Tells the words of a helper, which are no part of the answer. Its changes and its tokens count. */
  #helper(method: string, params: JsonFields): AdapterEvent[] {
    const id = String(params["threadId"]);
    switch (method) {
      case "thread/tokenUsage/updated":
        return this.#usage(params);
      case "turn/started":
        return this.#helpers.works(id);
      case "turn/completed":
        return this.#helpers.over(id, params["turn"]);
      case "item/completed":
        return [...this.#helpers.works(id), ...this.#helperItem(id, fieldsOrNone(params["item"]))];
      default:
        return [];
    }
  }

  #helperItem(id: string, item: JsonFields): AdapterEvent[] {
    if (item["type"] === "agentMessage") {
      const text = stringOf(item["text"]) ?? "";
      this.#helpers.said(id, text);
      return [{ ...passed(`[sub-agent ${this.#helpers.nameOf(id)}] ${text}`), agent_id: id }];
    }
    if (item["type"] === "collabAgentToolCall" && succeeded(item)) return this.#helpers.called(item);
    if (item["type"] !== "fileChange" || !succeeded(item)) return [];
    return fileChangesOf(item).map((event) => event.type === "file_change" ? { ...event, agent_id: id } : event);
  }

  #notice(method: string, params: JsonFields): AdapterEvent[] | null {
    switch (method) {
      case "warning":
      case "guardianWarning":
        return told(params["message"]);
      case "configWarning":
      case "deprecationNotice":
        return told(params["summary"]);
      case "mcpServer/startupStatus/updated":
        return told(params["error"]);
      case "item/mcpToolCall/progress":
        return told(params["message"]);
      case "model/rerouted":
        this.#model = stringOf(params["toModel"]) ?? this.#model;
        return told(`Another model answers: ${String(params["toModel"])}.`);
      default:
        return isQuiet(method) ? [] : null;
    }
  }
}

function told(message: unknown): AdapterEvent[] {
  const text = stringOf(message);
  return text === null || text === "" ? [] : [passed(text)];
}

function passed(message: string): AdapterEvent & { type: "progress" } {
  return { type: "progress", message };
}
