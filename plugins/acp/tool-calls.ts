import {
  type AdapterEvent,
  fieldsOrNone,
  type FileChangeEvent,
  type JsonFields,
  listOf,
  objectsOf,
  type PermissionRequestEvent,
  textOf,
  type ToolKind,
  toolKinds,
  workOf,
} from "bulkhead/plugin-sdk";
import type { Habits } from "./habits.ts";
import { type CommandOutcome, CommandOutput } from "./command-output.ts";
import {
  argumentsOf,
  inputAsked,
  inputOf,
  isKnown,
  pathsOf,
  textsOf,
  titleAsked,
  type ToolInput,
} from "./tool-input.ts";

/** A tool call as far as the agent has reported it: each update replaces what it names. */
interface Call extends ToolInput {
  /** Its id for the host. */
  id: string;
  state: "held" | "waiting" | "open" | "over";
  /** The agent's agent that made it, once that is told. */
  agent: string | undefined;
  /** The tool's name, once the host knows the call. */
  tool: string | null;
  /** Facts of the call when the host last got it. */
  told: { work: ReturnType<typeof workOf>; isKnown: boolean } | null;
  /** Its earlier ids for the host: each stands for less than what the call turned out to be. */
  before: { id: string; tool: string }[];
  /** Output that came beside the content. */
  output: CommandOutput;
}

/** Finds the outcome of a command that the host ran for the agent, by the id of its terminal. */
export type FindOutcome = (terminalId: string) => CommandOutcome | undefined;

/**
 * The tool calls of a turn. An agent reports one before it knows what for; it is given to the host once that is known,
 * or when it asks, has ended, the agent goes on, or it has run for a while.
 */
export class ToolCalls {
  readonly #calls = new Map<string, Call>();
  /** Ids of calls of the turns before. */
  readonly #earlier = new Set<string>();
  #turn = 1;
  readonly #findOutcome: FindOutcome;
  #waiting: string[] = [];

  constructor(findOutcome: FindOutcome) {
    this.#findOutcome = findOutcome;
  }

  /** Begins another turn: no call of the one before goes on. Agents may begin to count their calls again. */
  nextTurn(): void {
    for (const id of this.#calls.keys()) this.#earlier.add(id);
    this.#calls.clear();
    this.#waiting = [];
    this.#turn++;
  }

  /** Takes a `tool_call` or `tool_call_update`, or the call that a request for permission shows; null for what is none. */
  take(update: JsonFields, habits: Habits, agent?: string): AdapterEvent[] | null {
    const id = textOf(update["toolCallId"]);
    if (id === undefined || this.#isLate(id, update)) return null;
    const call = this.#call(id);
    if (call.state === "over") return tells(update, call.fields) ? null : [];
    call.agent ??= agent;
    call.fields = merged(call.fields, update);
    call.args = argumentsOf(update, habits.arguments_in_text === true) ?? call.args;
    call.output.take(fieldsOrNone(update["_meta"]));
    const status = call.fields["status"];
    if (status === "completed" || status === "failed") {
      return [...this.#open(call), ...this.#turnedOut(call), ...this.#end(call)];
    }
    if (status !== "in_progress") return this.#turnedOut(call);
    if (call.state === "open") return this.#turnedOut(call);
    if (isKnown(call)) return this.#open(call);
    if (call.state === "held") this.#wait(id, call);
    return [];
  }

  /** The request for permission that shows this call, without its id and options. */
  asked(shown: JsonFields): Omit<PermissionRequestEvent, "request_id" | "options"> {
    const id = textOf(shown["toolCallId"]) ?? "";
    const call = this.#call(id);
    const tool = call.tool ?? toolOf(call.fields);
    return {
      type: "permission_request",
      tool,
      title: titleAsked(call, tool),
      kind: kindOf(call.fields),
      call_id: call.id,
      input: inputAsked(call, shown),
      ...agentOf(call),
    };
  }

  /** A call that starts an agent, as it is known by now; undefined for one that this turn has not. */
  shown(id: string): { fields: JsonFields; from: { call_id: string; parent?: string } } | undefined {
    const call = this.#calls.get(id);
    if (!call) return undefined;
    const parent = call.agent === undefined ? {} : { parent: call.agent };
    return { fields: call.fields, from: { call_id: call.id, ...parent } };
  }

  /** Gives the call, if it was held back. */
  open(id: string): AdapterEvent[] {
    const call = this.#calls.get(id);
    return call ? this.#open(call) : [];
  }

  openAll(): AdapterEvent[] {
    return this.#calls.size === 0 ? [] : [...this.#calls.keys()].flatMap((id) => this.open(id));
  }

  /** Whether a call has begun and not ended: a tool may run. */
  get areRunning(): boolean {
    return [...this.#calls.values()].some(({ state }) => state === "waiting" || state === "open");
  }

  /** Whether a call was reported and has not ended. */
  get areOpen(): boolean {
    return [...this.#calls.values()].some(({ state }) => state !== "over");
  }

  /** Calls that have begun to run since the last time, with an input that is not known. */
  waiting(): string[] {
    return this.#waiting.splice(0);
  }

  /** Whether an update is of a call that an earlier turn left. */
  #isLate(id: string, { sessionUpdate }: JsonFields): boolean {
    return sessionUpdate === "tool_call_update" && this.#earlier.has(id) && !this.#calls.has(id);
  }

  #call(id: string): Call {
    const call = this.#calls.get(id) ?? {
      id: this.#earlier.has(id) ? `${id}#${this.#turn}` : id,
      agent: undefined,
      fields: {},
      args: undefined,
      state: "held",
      tool: null,
      told: null,
      before: [],
      output: new CommandOutput(),
    };
    this.#calls.set(id, call);
    return call;
  }

  #wait(id: string, call: Call): void {
    call.state = "waiting";
    this.#waiting.push(id);
  }

  #open(call: Call): AdapterEvent[] {
    if (call.state !== "held" && call.state !== "waiting") return [];
    call.state = "open";
    return [this.#tell(call)];
  }

  #tell(call: Call): AdapterEvent {
    const tool = call.tool = toolOf(call.fields);
    const [kind, input] = [kindOf(call.fields), inputOf(call)];
    call.told = { work: workOf({ tool, kind, input }), isKnown: isKnown(call) };
    return { type: "tool_call", call_id: call.id, tool, kind, input, ...agentOf(call) };
  }

  /**
   * A call that was told as reading, or as nothing known, and turns out to be an edit or a command is told as another one:
   * a yes to the first is none to that. An input that comes later than the call is told as well.
   */
  #turnedOut(call: Call): AdapterEvent[] {
    const { told, tool } = call;
    if (told === null || tool === null || call.state !== "open") return [];
    const now = workOf({ tool: toolOf(call.fields), kind: kindOf(call.fields), input: inputOf(call) });
    if (now !== null && now !== told.work && told.work !== "execute") {
      call.before.push({ id: call.id, tool });
      call.id = `${call.id}~${call.before.length}`;
      return [this.#tell(call)];
    }
    if (told.isKnown || call.args === undefined) return [];
    told.isKnown = true;
    return [{ type: "progress", message: `The input of ${tool}: ${shortText(call.args)}`, ...agentOf(call) }];
  }

  #end(call: Call): AdapterEvent[] {
    const { fields, tool, output } = call;
    call.state = "over";
    const success = fields["status"] === "completed";
    const result: AdapterEvent = {
      type: "tool_result",
      call_id: call.id,
      tool: tool ?? toolOf(fields),
      output: this.#ranHere(fields) ?? output.told() ?? fields["rawOutput"] ?? shown(fields["content"]),
      success,
      duration_ms: null,
      ...agentOf(call),
    };
    const before = call.before.map((one): AdapterEvent => ({
      ...result,
      call_id: one.id,
      tool: one.tool,
      output: null,
    }));
    if (!success) return [...before, result];
    return [...before, result, ...changesOf(fields).map((change) => ({ ...change, ...agentOf(call) }))];
  }

  /** Outcome of the command that the host ran for this call. */
  #ranHere({ content }: JsonFields): CommandOutcome | undefined {
    const ids = objectsOf(content).flatMap(({ terminalId }) => textOf(terminalId) ?? []);
    return ids.map(this.#findOutcome).findLast((outcome) => outcome !== undefined);
  }
}

function shortText(args: unknown): string {
  return (typeof args === "string" ? args : JSON.stringify(args)).slice(0, 4096);
}

function agentOf({ agent }: Call): { agent_id?: string } {
  return agent === undefined ? {} : { agent_id: agent };
}

/**
 * The tool's name. Where the agent tells none, one that stands before two underscores in the call's id, as some agents
 * write it, and else its kind: a title is a sentence, which no rule could go by.
 */
export function toolOf(call: JsonFields): string {
  const told = textOf(call["name"]) ?? textOf(fieldsOrNone(fieldsOrNone(call["_meta"])["claudeCode"])["toolName"]);
  const inId = /^([A-Za-z][\w.-]*)__[A-Za-z0-9-]{6,}$/.exec(textOf(call["toolCallId"]) ?? "")?.[1];
  return (told ?? inId ?? textOf(call["kind"]) ?? "other").slice(0, 256);
}

/** The family of a tool; one that the host's contract does not name is `other`. */
function kindOf({ kind }: JsonFields): ToolKind {
  return toolKinds.find((known) => known === kind) ?? "other";
}

/** Returns the changes that the agent reports for the call: its differences, or else the files it was about. */
function changesOf({ content, kind, locations, rawOutput }: JsonFields): FileChangeEvent[] {
  const changes = objectsOf(content).filter(({ type }) => type === "diff").flatMap((diff): FileChangeEvent[] => {
    const path = textOf(diff["path"]);
    return path === undefined ? [] : [{ type: "file_change", path, action: actionOf(diff) }];
  });
  if (changes.length > 0 || (kind !== "delete" && kind !== "edit")) return changes;
  const isNew = fieldsOrNone(fieldsOrNone(rawOutput)["metadata"])["exists"] === false;
  const action = kind === "delete" ? "delete" : isNew ? "create" : "modify";
  return pathsOf(locations).map((path) => ({ type: "file_change", path, action }));
}

function actionOf({ oldText, _meta }: JsonFields): "create" | "modify" | "delete" {
  switch (fieldsOrNone(_meta)["kind"]) {
    case "add":
      return "create";
    case "delete":
      return "delete";
    default:
      return oldText === undefined || oldText === null ? "create" : "modify";
  }
}

/** The texts of a call's content; what is no text as it came, and null for none. */
function shown(content: unknown): unknown {
  const text = textsOf(content);
  if (text !== null) return text;
  // Differences stand in the file changes.
  const others = listOf(content).filter((item) => fieldsOrNone(item)["type"] !== "diff");
  return others.length > 0 ? others : null;
}

/** Null takes nothing away. Everything else replaces what was there, an empty list as well, but for `_meta`. */
function merged(before: JsonFields, update: JsonFields): JsonFields {
  const said = Object.entries(update).filter(([, value]) => value !== null && value !== undefined);
  const _meta = { ...fieldsOrNone(before["_meta"]), ...fieldsOrNone(update["_meta"]) };
  return { ...before, ...Object.fromEntries(said), _meta };
}

/** Whether an update of a call that is over says anything else of it than what its result said. */
function tells({ status, content, rawOutput }: JsonFields, { status: known }: JsonFields): boolean {
  // Some agents report a denied call once more, from its beginning to its end.
  if (known === "failed" && (status === "pending" || status === known)) return false;
  return (status ?? content ?? rawOutput ?? null) !== null;
}
