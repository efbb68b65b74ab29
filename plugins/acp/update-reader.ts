import {
  type AdapterEvent,
  fieldsOf,
  fieldsOrNone,
  type JsonFields,
  objectsOf,
  type PermissionOption,
  type PlanEntry,
  stringOf,
  textOf,
} from "bulkhead/plugin-sdk";
import type { Habits } from "./habits.ts";
import { agentId, parentCallOf, SubAgents, taskOf } from "./sub-agents.ts";
import type { TextRun } from "./text-run.ts";
import type { TokenAccount, TurnAccount } from "./token-account.ts";
import { type FindOutcome, ToolCalls } from "./tool-calls.ts";
import { threadOf, type TurnSigns, type TurnSummary } from "./turn-end.ts";
import { addChunkUsage, type Figures, SessionCost, usageUpdate } from "./usage.ts";

const optionKinds: readonly PermissionOption["kind"][] = ["allow_once", "allow_always", "reject_once", "reject_always"];

const priorities = ["high", "medium", "low"] as const;

const noSigns = { worked: false, lastText: "", state: undefined, error: null };

/** Collaborators of {@link UpdateReader}. */
interface UpdateReaderDeps {
  /** Finds the outcome of a command that the host ran for the agent. */
  findOutcome?: FindOutcome;
  /** Gets the turn's signs, and takes the answers that are its own. */
  account?: TokenAccount;
}

/** Turns an agent's messages of one session into events, except answers to its client's requests. */
export class UpdateReader {
  readonly #calls: ToolCalls;
  readonly #account: TokenAccount | undefined;
  readonly #changed = new Set<string>();
  readonly #subAgents = new SubAgents();
  #session: string | null = null;
  #prompted = false;
  /** Updates of a session's earlier turns, which were events then. */
  #told = 0;
  #answer = "";
  #messageId: string | undefined;
  /** Whether what comes next is another message. */
  #between = true;
  #openLine = false;
  readonly #cost = new SessionCost();
  #counted: Figures | null = null;
  #habits: Habits = {};
  #signs: Omit<TurnSigns, "broke"> = { ...noSigns };

  constructor({ findOutcome = () => undefined, account }: UpdateReaderDeps = {}) {
    this.#calls = new ToolCalls(findOutcome);
    this.#account = account;
  }

  /** The session is known, and the agent is asked: what comes from now on is this turn's. */
  begin(session: string, habits: Habits = {}, { isResumed = false }: { isResumed?: boolean } = {}): AdapterEvent[] {
    const isFirst = !this.#prompted;
    if (isFirst) this.#cost.begin({ isResumed });
    this.#session = session;
    this.#habits = habits;
    this.#prompted = true;
    this.#changed.clear();
    [this.#answer, this.#messageId, this.#between, this.#openLine] = ["", undefined, true, false];
    this.#signs = { ...noSigns };
    if (!isFirst || this.#told === 0) return [];
    return [{ type: "progress", message: `The agent has gone through ${this.#told} updates of the session so far.` }];
  }

  /** The session of which a run of texts may be taken at once; null where each text has to be looked at. */
  get runsOf(): string | null {
    return this.#prompted && !this.#habits.is_notice && !this.#account?.isAsked ? this.#session : null;
  }

  /** The events of a run, the same as those of its messages one by one. */
  readRun({ kind, messageId, texts }: TextRun): AdapterEvent[] {
    this.#account?.modelSpoke();
    const held = this.#calls.openAll();
    const said = kind === "agent_thought_chunk" ? this.#thoughts(texts) : this.#messages(texts, messageId);
    return held.length === 0 ? said : [...held, ...said];
  }

  /** The events of a message; null for a notification that it does not know. */
  read(message: JsonFields): AdapterEvent[] | null {
    const params = fieldsOf(message["params"]);
    switch (message["method"]) {
      case "session/update":
        return params && this.#update(params);
      case "session/request_permission":
        return this.#permission(message["id"], params);
      case "_auth/status_update": {
        const { kind, label } = fieldsOrNone(params?.["authStatus"]);
        return [{ type: "progress", message: `Its login: ${textOf(label) ?? textOf(kind) ?? "not told"}.` }];
      }
      case "$/cancel_request":
        return [];
      default:
        // An answer, or a request that the client answers; or a notice to clients of the agent's own kind.
        return "id" in message || /^qwen\/notify\//.test(textOf(message["method"]) ?? "") ? [] : null;
    }
  }

  /** Whether a call has no result, and the agent has said nothing since it began. */
  get hasOpenCall(): boolean {
    return this.#calls.areOpen && this.#signs.lastText === "";
  }

  /** Whether the agent has neither said nor done anything in its turn. */
  get isSpeechless(): boolean {
    return !this.#signs.worked && this.#signs.lastText === "" && this.#counted === null;
  }

  /** Calls that have begun to run since the last time, with an input that is not known yet. */
  waiting(): string[] {
    return this.#calls.waiting();
  }

  /** Whether a tool may run now, which may print to the agent's own error output. */
  get toolsRun(): boolean {
    return this.#calls.areRunning;
  }

  /** The call that was waiting for its input, if it still is. */
  open(callId: string): AdapterEvent[] {
    return this.#calls.open(callId);
  }

  /** Ends the turn and returns its result; `account` is the agent's own of what the turn took. */
  end(account: TurnAccount = { figures: null, broke: false }): TurnSummary {
    return {
      events: [...this.#subAgents.said(), ...this.#calls.openAll()],
      output: this.#answer,
      files_changed: [...this.#changed],
      usage: {
        cost: this.#cost.spent,
        counted: account.figures ?? this.#counted,
        // A tool's result goes to the model in another call.
        isPart: this.#habits.counts_last_call === true && this.#signs.worked,
        callsBesides: this.#habits.calls_besides === true,
      },
      signs: { ...this.#signs, broke: account.broke },
      habits: this.#habits,
    };
  }

  /** The turn is over: what the agent counts from now on is for the next one. */
  pause(): void {
    this.#cost.begin({ isResumed: true });
    this.#counted = null;
    this.#calls.nextTurn();
  }

  #update({ sessionId, update: given }: JsonFields): AdapterEvent[] | null {
    const update = fieldsOf(given);
    if (!update) return null;
    if (this.#session !== null && sessionId !== this.#session) {
      const child = textOf(sessionId);
      return child === undefined || !this.#prompted ? null : this.#ofChild(child, update);
    }
    if (this.#isAccount(update)) return [];
    const content = isContent(update["sessionUpdate"]);
    if (content && !this.#prompted) {
      this.#told++;
      if (update["sessionUpdate"] === "usage_update") this.#cost.take(update);
      return [];
    }
    return this.#event(update);
  }

  #isAccount({ sessionUpdate, content }: JsonFields): boolean {
    if (sessionUpdate !== "agent_message_chunk") return false;
    return this.#account?.take(stringOf(fieldsOrNone(content)["text"]) ?? "") ?? false;
  }

  #event(update: JsonFields): AdapterEvent[] | null {
    switch (update["sessionUpdate"]) {
      case "agent_message_chunk":
        return this.#chunk(update, (text) => this.#messages([text], textOf(update["messageId"])));
      case "agent_thought_chunk":
        return this.#chunk(update, (text) => this.#thoughts([text]));
      case "user_message_chunk":
        // The prompt, said again.
        return [];
      case "tool_call":
      case "tool_call_update":
        return this.#toolCall(update);
      case "plan":
        this.#signs.worked = true;
        return planOf(update);
      case "session_info_update":
        return this.#sessionInfo(update);
      case "usage_update":
        this.#cost.take(update);
        return one(usageUpdate(update, this.#cost.spent));
      case "subagent_update":
        return this.#subAgents.update(update, undefined);
      default:
        return one(noticeOf(update));
    }
  }

  #chunk(update: JsonFields, speak: (text: string) => AdapterEvent[]): AdapterEvent[] | null {
    this.#counted = addChunkUsage(this.#counted, update);
    const block = fieldsOrNone(update["content"]);
    const text = block["type"] === "text" ? stringOf(block["text"]) : null;
    if (text === null) return null;
    // A notice of `claude-agent-acp`, for clients that have no notices.
    const isNotice = fieldsOrNone(fieldsOrNone(update["_meta"])["claudeCode"])["kind"] === "informational";
    if (isNotice || this.#habits.is_notice?.(text, { callIsOpen: this.#calls.areOpen })) {
      return [{ type: "progress", message: text }];
    }
    if (text !== "") this.#account?.modelSpoke();
    return text === "" ? [] : [...this.#calls.openAll(), ...speak(text)];
  }

  /** Pieces of one message. */
  #messages(texts: readonly string[], id: string | undefined): AdapterEvent[] {
    const another = id === undefined || this.#messageId === undefined ? this.#between : id !== this.#messageId;
    const gap = another && this.#openLine ? "\n" : "";
    const text = texts.join("");
    this.#answer = another ? text : this.#answer + text;
    this.#messageId = id;
    this.#between = false;
    this.#openLine = !text.endsWith("\n");
    this.#signs.lastText = texts.findLast((one) => one.trim() !== "") ?? this.#signs.lastText;
    return texts.map((data, at) => ({ type: "output", stream: "stdout", data: at === 0 ? gap + data : data }));
  }

  #thoughts(texts: readonly string[]): AdapterEvent[] {
    this.#between = true;
    return texts.map((content) => ({ type: "thinking", content }));
  }

  #toolCall(update: JsonFields): AdapterEvent[] | null {
    const parent = this.#parentOf(update);
    if (parent !== undefined) return this.#childCall(update, parent);
    const events = this.#calls.take(update, this.#habits);
    this.#between = true;
    this.#messageId = undefined;
    this.#signs.worked = true;
    this.#signs.lastText = "";
    for (const event of events ?? []) if (event.type === "file_change") this.#changed.add(event.path);
    if (events?.some(({ type }) => type === "tool_result")) this.#account?.resultCame();
    else this.#account?.modelSpoke();
    return events && [...this.#agentsEnded(update, events), ...events];
  }

  /** The result of a call that started an agent is that agent's end. */
  #agentsEnded({ toolCallId }: JsonFields, events: readonly AdapterEvent[]): AdapterEvent[] {
    const result = events.find((event) => event.type === "tool_result");
    return result ? this.#subAgents.end(textOf(toolCallId) ?? "", result.success ? "completed" : "error") : [];
  }

  /** The agent's agent that made a call of this session. Later updates of the call may leave it out. */
  #parentOf(update: JsonFields): string | undefined {
    return parentCallOf(update) ?? this.#calls.shown(textOf(update["toolCallId"]) ?? "")?.from.parent;
  }

  /** The title of the session, and the agent's facts about its thread in a way of its own. */
  #sessionInfo(update: JsonFields): AdapterEvent[] {
    const title = textOf(update["title"]);
    const { state, error } = threadOf(update, this.#habits);
    if (state !== undefined) this.#signs.state = state;
    if (error !== null) this.#signs.error = error;
    // Its text from now on is about the failure.
    if (state !== undefined && state === this.#habits.failed_state) this.#signs.lastText = "";
    const messages = [
      ...(title === undefined ? [] : [`Its session is called "${title}".`]),
      ...(state === undefined ? [] : [`Its thread is in the state ${state}.`]),
      ...(error ? [error.text] : []),
    ];
    return messages.map((message) => ({ type: "progress", message }));
  }

  #permission(requestId: unknown, params: JsonFields | null): AdapterEvent[] | null {
    const shown = fieldsOf(params?.["toolCall"]);
    const options = objectsOf(params?.["options"]).flatMap(optionOf).slice(0, 32);
    const origin = textOf(params?.["sessionId"]);
    // Of two answers with one id, the agent may take either.
    const isClear = options.length > 0 && new Set(options.map((option) => option.id)).size === options.length;
    if (!shown || !isClear || origin === undefined || this.#session === null) return null;
    const call = origin === this.#session ? shown : callOf(origin, shown);
    const child = origin === this.#session ? this.#parentOf(shown) ?? null : origin;
    const id = textOf(call["toolCallId"]);
    if (id === undefined) return null;
    const begun = child === null ? this.#toolCall(call) : this.#childCall(call, child);
    const asked = this.#calls.asked(call);
    const title = child === null ? asked.title : `${this.#subAgents.nameOf(child)} ${asked.title}`.slice(0, 1024);
    const request_id = permissionId(requestId);
    return [...begun ?? [], ...this.#calls.open(id), { ...asked, title, request_id, options }];
  }

  /** An update of a sub-agent's session: its tools are at work in this one, and its words are no part of the answer. */
  #ofChild(child: string, update: JsonFields): AdapterEvent[] | null {
    switch (update["sessionUpdate"]) {
      case "agent_message_chunk":
      case "agent_thought_chunk": {
        const begun = this.#subAgents.start(child);
        return [...begun, ...this.#subAgents.say(child, stringOf(fieldsOrNone(update["content"])["text"]) ?? "")];
      }
      case "tool_call":
      case "tool_call_update":
        return this.#childCall(callOf(child, update), child);
      case "subagent_update":
        return this.#subAgents.update(update, child);
      default:
        return null;
    }
  }

  #childCall(call: JsonFields, child: string): AdapterEvent[] | null {
    const parent = this.#calls.shown(child);
    const told = parent ? { ...taskOf(parent.fields), ...parent.from } : {};
    const begun = [...this.#calls.open(child), ...this.#subAgents.start(child, told)];
    const events = this.#calls.take(call, this.#habits, agentId(child));
    this.#signs.worked = true;
    for (const event of events ?? []) if (event.type === "file_change") this.#changed.add(event.path);
    if (events === null) return begun.length === 0 ? null : [...begun, { type: "unparsed", data: call }];
    return [...begun, ...this.#subAgents.said(), ...this.#agentsEnded(call, events), ...events];
  }
}

/** The id under which the host is asked what the agent's request with this id asks. */
export function permissionId(requestId: unknown): string {
  return `permission-${JSON.stringify(requestId)}`.slice(0, 256);
}

/** A sub-agent's call, with an id that no call of another session has. */
function callOf(child: string, call: JsonFields): JsonFields {
  const id = textOf(call["toolCallId"]);
  return id === undefined ? call : { ...call, toolCallId: `${child}/${id}` };
}

/** An option of a kind that the host's contract does not name is shown as well: its words say what it does. */
function optionOf({ optionId, name, kind }: JsonFields): PermissionOption[] {
  const id = textOf(optionId);
  const known = optionKinds.find((one) => one === kind) ?? "other";
  return id === undefined ? [] : [{ id, label: (stringOf(name) ?? id).slice(0, 1024), kind: known }];
}

/** Whether an update is of a turn, and not about the session. */
function isContent(kind: unknown): boolean {
  return typeof kind === "string" &&
    (/_chunk$/.test(kind) || /^(tool_call|plan)/.test(kind) || kind === "usage_update");
}

function planOf({ entries }: JsonFields): AdapterEvent[] | null {
  if (!Array.isArray(entries)) return null;
  return [{ type: "plan", entries: objectsOf(entries).flatMap(planEntryOf).slice(0, 1000) }];
}

function planEntryOf({ content, status, priority }: JsonFields): PlanEntry[] {
  const text = stringOf(content);
  if (text === null) return [];
  const weight = priorities.find((one) => one === priority);
  return [{
    content: text,
    status: status === "in_progress" || status === "completed" ? status : "pending",
    ...(weight === undefined ? {} : { priority: weight }),
  }];
}

/** Returns the agent's notice about its session, for people; null for an unknown update. */
function noticeOf(update: JsonFields): AdapterEvent | null {
  const message = noticeText(update);
  return message === null ? null : { type: "progress", message };
}

function noticeText(update: JsonFields): string | null {
  switch (update["sessionUpdate"]) {
    case "available_commands_update": {
      const names = objectsOf(update["availableCommands"]).flatMap(({ name }) => textOf(name) ?? []);
      return `Its commands are ${names.slice(0, 50).join(", ") || "none"}${names.length > 50 ? " and more" : ""}.`;
    }
    case "current_mode_update":
      return `Its mode is ${textOf(update["currentModeId"]) ?? "not told"}.`;
    case "config_option_update": {
      const set = objectsOf(update["configOptions"]).map(({ id, currentValue }) =>
        `${String(id)} ${String(currentValue)}`
      );
      return `Its options are ${set.join(", ") || "none"}.`;
    }
    case "notice":
      return [textOf(update["title"]), textOf(update["description"])].filter((text) => text !== undefined).join(" ") ||
        null;
    case "compaction_update":
      return `It makes its context smaller: ${textOf(update["status"]) ?? "it does not say how far"}.`;
    case "compaction_summary_chunk":
      return stringOf(fieldsOrNone(update["content"])["text"]);
    default:
      return null;
  }
}

function one(event: AdapterEvent | null): AdapterEvent[] | null {
  return event && [event];
}
