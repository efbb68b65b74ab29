import { type TSchema, Type } from "@sinclair/typebox";
import { currencyPattern } from "./currency.ts";
import { closed, exactly, type SchemaOf } from "./schema.ts";
import { type ToolKind, toolKinds } from "./tool-kinds.ts";

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Text the agent or its program printed. */
export interface OutputEvent {
  type: "output";
  stream: "stdout" | "stderr";
  data: string;
  /** The agent of the agent that printed it: its text is no part of the answer. */
  agent_id?: string;
}
/** The agent's reasoning, if it shows it. */
export interface ThinkingEvent {
  type: "thinking";
  content: string;
  tokens_used?: number;
  agent_id?: string;
}
/** The agent calls a tool. `call_id` is unique in the session. */
export interface ToolCallEvent {
  type: "tool_call";
  call_id: string;
  tool: string;
  kind: ToolKind;
  input: unknown;
  agent_id?: string;
}
/** A tool answered. */
export interface ToolResultEvent {
  type: "tool_result";
  call_id: string;
  tool: string;
  output: unknown;
  success: boolean;
  duration_ms: number | null;
  agent_id?: string;
}
/**
 * The agent says it changed a file. The host makes paths below the working directory relative to it, and `create` of a
 * `modify` where the file was missing as the call began. The result's artifacts have the real changes.
 */
export interface FileChangeEvent {
  type: "file_change";
  path: string;
  action: "create" | "modify" | "delete" | "rename";
  from?: string;
  diff?: string;
  agent_id?: string;
}
/** A sign of life for people. */
export interface ProgressEvent {
  type: "progress";
  message: string;
  /** 0 to 100. */
  percentage?: number;
  agent_id?: string;
}
/** One step of a plan. */
export interface PlanEntry {
  content: string;
  status: "pending" | "in_progress" | "completed";
  priority?: "high" | "medium" | "low";
}
/** The agent's complete plan; each one replaces the one before. */
export interface PlanEvent {
  type: "plan";
  entries: PlanEntry[];
}
/** Tokens and cost so far. `scope` says whether the numbers cover this turn or the whole session. */
export interface UsageEvent {
  type: "usage";
  scope: "turn" | "session";
  tokens_in: number | null;
  tokens_out: number | null;
  tokens_cached: number | null;
  cost: number | null;
  currency?: string;
  model?: string;
  /** The agent calls its model besides, for a title or in its sub-agents, and does not count that here. */
  partial?: boolean;
  /** The agent of the agent whose part this is: it is in the session's figures already. */
  agent_id?: string;
}
/** One answer that a permission request offers. */
export interface PermissionOption {
  id: string;
  label: string;
  /** `other`: the agent's own kind, which only its label explains. Policy never chooses it. */
  kind: "allow_once" | "allow_always" | "reject_once" | "reject_always" | "other";
}
/**
 * The agent asks for permission to do something. An agent may use a `request_id` again once that request is over: the
 * host then takes it for a new request, and gives it a name of its own in the stream.
 */
export interface PermissionRequestEvent {
  type: "permission_request";
  request_id: string;
  tool: string;
  title: string;
  /** Family of the tool, if the agent or its adapter knows it; approval policies depend on it. */
  kind?: ToolKind;
  /** The tool call that asks; its result closes the request. */
  call_id?: string;
  input?: unknown;
  options: PermissionOption[];
  agent_id?: string;
}
/** The agent asks a person something. */
export interface QuestionEvent {
  type: "question";
  request_id: string;
  /** The tool call that asks; its result closes the question. */
  call_id?: string;
  question: string;
  options?: string[];
  agent_id?: string;
}
/** The agent no longer waits for the answer to its open permission request or question. */
export interface RequestWithdrawnEvent {
  type: "request_withdrawn";
  request_id: string;
}
/** The agent has a message for its running turn, or it came too late and is given back. */
export interface MessageEvent {
  type: "message";
  message_id: string;
  state: "taken" | "returned";
}
/** The agent went on by itself after its last word: with messages that it had kept, or without any. */
export interface TurnBeganEvent {
  type: "turn_began";
  message_ids: string[];
}
/** The agent has handed work to an agent of its own, whose events name it by `agent_id`. */
export interface AgentStartedEvent {
  type: "agent_started";
  agent_id: string;
  /** The tool call that started it. */
  call_id?: string;
  /** The `agent_id` of the one that started it; absent: the session's agent. */
  parent?: string;
  name: string;
  prompt?: string;
}
/** An agent of the agent is done. Its usage is a part of the session's. */
export interface AgentEndedEvent {
  type: "agent_ended";
  agent_id: string;
  outcome: "completed" | "error" | "stopped";
  usage?: { tokens_in: number | null; tokens_out: number | null; tokens_cached: number | null; cost: number | null };
  output?: string;
}
/** The provider limits requests. */
export interface RateLimitEvent {
  type: "rate_limit";
  message: string;
  wait_ms: number | null;
  /** RFC 3339, UTC. */
  reset_at?: string;
}
/** Facts that the agent reports about itself. */
export interface AgentInfoEvent {
  type: "agent_info";
  /** The agent's own session id, by which it can continue. */
  agent_session_id?: string;
  agent_version?: string;
  model?: string;
  tools?: string[];
}
/** Data that the adapter does not understand, kept unchanged. */
export interface UnparsedEvent {
  type: "unparsed";
  data: unknown;
}
/** The agent's last word when its work is done. */
export interface CompletedEvent {
  type: "completed";
  success: boolean;
  output?: string;
  files_changed: string[];
  tokens_used: number | null;
  cost: number | null;
  /** 0 to 1, if the agent rates its own answer. */
  confidence?: number;
  /** The result as data: any JSON. The host checks it where the manifest or the request names an `output_schema`. */
  structured_output?: unknown;
  /** The agent's own name of the turn's end, from which a later session may go on; in an entry that is kept. */
  agent_ref?: string;
  /** More facts about the work; they stand under `metadata` in the result. */
  metadata?: Record<string, unknown>;
}
/** The agent or its adapter failed. `code` is the adapter's own word unless it is one of the host's codes. */
export interface ErrorEvent {
  type: "error";
  code: string;
  message: string;
  recoverable: boolean;
}

/** Events that an adapter yields. */
export type AdapterEvent =
  | OutputEvent
  | ThinkingEvent
  | ToolCallEvent
  | ToolResultEvent
  | FileChangeEvent
  | ProgressEvent
  | PlanEvent
  | UsageEvent
  | PermissionRequestEvent
  | QuestionEvent
  | RequestWithdrawnEvent
  | MessageEvent
  | TurnBeganEvent
  | AgentStartedEvent
  | AgentEndedEvent
  | RateLimitEvent
  | AgentInfoEvent
  | UnparsedEvent
  | CompletedEvent
  | ErrorEvent;

/** The tag of an adapter event. */
export type AdapterEventType = AdapterEvent["type"];

/** Allows no control characters and no half characters: ids are keys and are shown. */
const id = Type.String({
  minLength: 1,
  maxLength: 256,
  pattern: "^(?:[^\\u0000-\\u001f\\u007f-\\u009f\\ud800-\\udfff]|[\\ud800-\\udbff][\\udc00-\\udfff])*$",
});
const text = Type.String();
const label = Type.String({ maxLength: 1024 });
// Keeps counts exact and sums finite, even if an agent reports nonsense.
const tokens = Type.Union([Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), Type.Null()]);
const cost = Type.Union([Type.Number({ minimum: 0, maximum: 1e12 }), Type.Null()]);
const kind = Type.Union(toolKinds.map((name) => Type.Literal(name)));
const strings = Type.Array(Type.String({ maxLength: 4096 }), { maxItems: 10_000 });

/** One schema per event type: a look-up by tag is four times faster than a union. */
export const adapterEventSchemas: { readonly [T in AdapterEventType]: SchemaOf<Extract<AdapterEvent, { type: T }>> } = {
  output: exactly<OutputEvent>()(Type.Object({
    type: Type.Literal("output"),
    stream: Type.Union([Type.Literal("stdout"), Type.Literal("stderr")]),
    data: text,
    agent_id: Type.Optional(id),
  }, closed)),
  thinking: exactly<ThinkingEvent>()(Type.Object({
    type: Type.Literal("thinking"),
    content: text,
    tokens_used: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
    agent_id: Type.Optional(id),
  }, closed)),
  tool_call: exactly<ToolCallEvent>()(Type.Object({
    type: Type.Literal("tool_call"),
    call_id: id,
    tool: id,
    kind,
    input: Type.Unknown(),
    agent_id: Type.Optional(id),
  }, closed)),
  tool_result: exactly<ToolResultEvent>()(Type.Object({
    type: Type.Literal("tool_result"),
    call_id: id,
    tool: id,
    output: Type.Unknown(),
    success: Type.Boolean(),
    duration_ms: Type.Union([Type.Number({ minimum: 0 }), Type.Null()]),
    agent_id: Type.Optional(id),
  }, closed)),
  file_change: exactly<FileChangeEvent>()(Type.Object({
    type: Type.Literal("file_change"),
    path: Type.String({ minLength: 1, maxLength: 4096 }),
    action: Type.Union([
      Type.Literal("create"),
      Type.Literal("modify"),
      Type.Literal("delete"),
      Type.Literal("rename"),
    ]),
    from: Type.Optional(Type.String({ minLength: 1, maxLength: 4096 })),
    diff: Type.Optional(text),
    agent_id: Type.Optional(id),
  }, closed)),
  progress: exactly<ProgressEvent>()(Type.Object({
    type: Type.Literal("progress"),
    message: text,
    percentage: Type.Optional(Type.Number({ minimum: 0, maximum: 100 })),
    agent_id: Type.Optional(id),
  }, closed)),
  plan: exactly<PlanEvent>()(Type.Object({
    type: Type.Literal("plan"),
    entries: Type.Array(
      Type.Object({
        content: text,
        status: Type.Union([Type.Literal("pending"), Type.Literal("in_progress"), Type.Literal("completed")]),
        priority: Type.Optional(Type.Union([Type.Literal("high"), Type.Literal("medium"), Type.Literal("low")])),
      }, closed),
      { maxItems: 1000 },
    ),
  }, closed)),
  usage: exactly<UsageEvent>()(Type.Object({
    type: Type.Literal("usage"),
    scope: Type.Union([Type.Literal("turn"), Type.Literal("session")]),
    tokens_in: tokens,
    tokens_out: tokens,
    tokens_cached: tokens,
    cost,
    currency: Type.Optional(Type.String({ pattern: currencyPattern })),
    model: Type.Optional(label),
    partial: Type.Optional(Type.Boolean()),
    agent_id: Type.Optional(id),
  }, closed)),
  permission_request: exactly<PermissionRequestEvent>()(Type.Object({
    type: Type.Literal("permission_request"),
    request_id: id,
    tool: id,
    title: label,
    kind: Type.Optional(kind),
    call_id: Type.Optional(id),
    input: Type.Optional(Type.Unknown()),
    options: Type.Array(
      Type.Object({
        id,
        label,
        kind: Type.Union([
          Type.Literal("allow_once"),
          Type.Literal("allow_always"),
          Type.Literal("reject_once"),
          Type.Literal("reject_always"),
          Type.Literal("other"),
        ]),
      }, closed),
      { minItems: 1, maxItems: 32 },
    ),
    agent_id: Type.Optional(id),
  }, closed)),
  question: exactly<QuestionEvent>()(Type.Object({
    type: Type.Literal("question"),
    request_id: id,
    call_id: Type.Optional(id),
    question: text,
    options: Type.Optional(Type.Array(label, { maxItems: 64 })),
    agent_id: Type.Optional(id),
  }, closed)),
  request_withdrawn: exactly<RequestWithdrawnEvent>()(Type.Object({
    type: Type.Literal("request_withdrawn"),
    request_id: id,
  }, closed)),
  message: exactly<MessageEvent>()(Type.Object({
    type: Type.Literal("message"),
    message_id: id,
    state: Type.Union([Type.Literal("taken"), Type.Literal("returned")]),
  }, closed)),
  turn_began: exactly<TurnBeganEvent>()(Type.Object({
    type: Type.Literal("turn_began"),
    message_ids: Type.Array(id, { maxItems: 64 }),
  }, closed)),
  agent_started: exactly<AgentStartedEvent>()(Type.Object({
    type: Type.Literal("agent_started"),
    agent_id: id,
    call_id: Type.Optional(id),
    parent: Type.Optional(id),
    name: label,
    prompt: Type.Optional(text),
  }, closed)),
  agent_ended: exactly<AgentEndedEvent>()(Type.Object({
    type: Type.Literal("agent_ended"),
    agent_id: id,
    outcome: Type.Union([Type.Literal("completed"), Type.Literal("error"), Type.Literal("stopped")]),
    usage: Type.Optional(
      Type.Object({ tokens_in: tokens, tokens_out: tokens, tokens_cached: tokens, cost }, closed),
    ),
    output: Type.Optional(text),
  }, closed)),
  rate_limit: exactly<RateLimitEvent>()(Type.Object({
    type: Type.Literal("rate_limit"),
    message: text,
    wait_ms: Type.Union([Type.Number({ minimum: 0 }), Type.Null()]),
    reset_at: Type.Optional(label),
  }, closed)),
  agent_info: exactly<AgentInfoEvent>()(Type.Object({
    type: Type.Literal("agent_info"),
    agent_session_id: Type.Optional(label),
    agent_version: Type.Optional(label),
    model: Type.Optional(label),
    tools: Type.Optional(strings),
  }, closed)),
  unparsed: exactly<UnparsedEvent>()(Type.Object({ type: Type.Literal("unparsed"), data: Type.Unknown() }, closed)),
  completed: exactly<CompletedEvent>()(Type.Object({
    type: Type.Literal("completed"),
    success: Type.Boolean(),
    output: Type.Optional(text),
    files_changed: strings,
    tokens_used: tokens,
    cost,
    confidence: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
    structured_output: Type.Optional(Type.Unknown()),
    agent_ref: Type.Optional(label),
    metadata: Type.Optional(
      Type.Record(Type.String({ minLength: 1, maxLength: 64 }), Type.Unknown(), { maxProperties: 64 }),
    ),
  }, closed)),
  error: exactly<ErrorEvent>()(Type.Object({
    type: Type.Literal("error"),
    code: id,
    message: text,
    recoverable: Type.Boolean(),
  }, closed)),
};

/** All adapter event types, in the order of the documentation. */
export const adapterEventTypes: readonly AdapterEventType[] = Object.keys(adapterEventSchemas) as AdapterEventType[];

/** Checks any {@link AdapterEvent}; for generating JSON Schema, too slow for the hot path. */
export const adapterEventSchema: TSchema = Type.Union(Object.values(adapterEventSchemas));
