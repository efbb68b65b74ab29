import type { Envelope, HostEvent, SessionStartedEvent } from "../../../plugin-sdk/envelope.ts";
import type { AdapterEvent } from "../../../plugin-sdk/events.ts";
import {
  readTraceparent,
  sessionPart,
  spanIdOf,
  type TracePlace,
  tracePlace,
} from "../../ground/checks/trace-context.ts";
import { type Attributes, errorClass, shownModel, shownName, type Span } from "./span.ts";
import { duration, tokenMeasurements, usageAttributes } from "./measurements.ts";
import { contentOf, messagesOf } from "./span-content.ts";

type EventOf<T extends (AdapterEvent | HostEvent)["type"]> = Extract<AdapterEvent | HostEvent, { type: T }>;

interface OpenSpan {
  part: string;
  parent: string;
  name: string;
  start_ms: number;
  attributes: Attributes;
}

/** When an event came, for a span's times and its adapter. */
interface Moment {
  ms: number;
  adapter: string;
}

/** Agents of an agent that are followed at once; the work of further ones counts as its own. */
const mostAgents = 256;

/** The spans of one session, made of its events in order. */
export class SessionSpans {
  readonly place: TracePlace;
  readonly #id: string;
  readonly #content: boolean;
  readonly #session: OpenSpan;
  readonly #started: SessionStartedEvent;
  #turn: OpenSpan | null = null;
  #attempt: OpenSpan | null = null;
  /** The attempt was begun by the turn under way, so it ends with it. */
  #attemptIsOfTurn = false;
  readonly #tools = new Map<string, OpenSpan>();
  readonly #agents = new Map<string, OpenSpan>();
  readonly #programs = new Map<number, OpenSpan>();
  /** Traces of the clients that gave messages, until their turn begins. */
  readonly #clients = new Map<string, TracePlace>();
  #link: Span["link"];
  /** When each agent's model got its last input: then the next call began. */
  readonly #asked = new Map<string, number>();
  #calls = 0;
  #countsCalls = false;
  #version: string | undefined;
  #model: string | undefined;

  constructor({ session_id, ts, adapter, event }: Envelope & { event: SessionStartedEvent }, content: boolean) {
    this.#id = session_id;
    this.#content = content;
    this.#started = event;
    this.place = tracePlace(session_id, event.requested?.traceparent);
    this.#model = shownModel(event.effective?.model ?? event.requested?.model);
    this.#session = {
      part: sessionPart,
      parent: "",
      name: `invoke_agent ${adapter.id}`,
      start_ms: Date.parse(ts),
      attributes: {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.conversation.id": event.follows?.conversation_id ?? session_id,
        "bulkhead.session.id": session_id,
        "bulkhead.session.times_resumed": event.times_resumed,
      },
    };
  }

  /** Takes the session's next event, and returns the spans that are over with it. */
  see({ event, ts, adapter }: Envelope): Span[] {
    const now = { ms: Date.parse(ts), adapter: adapter.id };
    switch (event.type) {
      case "attempt_started":
        return this.#beginAttempt(event, now);
      case "attempt_failed":
        return this.#endAttempt(now, errorClass(event.error.code));
      case "message_accepted":
        this.#noteClient(event);
        return [];
      case "turn_started":
        this.#beginTurn(event, now);
        return [];
      case "turn_ended":
        return this.#endTurn(event, now);
      case "agent_info":
        this.#model = shownModel(event.model) ?? this.#model;
        this.#version = event.agent_version === undefined ? this.#version : shownName(event.agent_version, "unknown");
        return [];
      case "usage":
        return this.#modelCall(event, now);
      case "tool_call":
        this.#beginTool(event, now);
        return [];
      case "tool_result":
        return this.#endTool(event, now);
      case "agent_started":
        this.#beginAgent(event, now);
        return [];
      case "agent_ended":
        return this.#endAgent(event, now);
      case "process_spawned":
        this.#beginProgram(event, now);
        return [];
      case "process_exited":
        return this.#endProgram(event, now);
      case "session_ended":
        return this.#end(event, now);
      default:
        return [];
    }
  }

  #beginAttempt({ attempt, adapter_id, access_mode }: EventOf<"attempt_started">, now: Moment): Span[] {
    const before = this.#endAttempt(now, undefined);
    this.#attempt = {
      part: `attempt ${attempt}`,
      parent: this.#idOf(this.#turn ?? this.#session),
      name: `attempt ${attempt}`,
      start_ms: now.ms,
      attributes: {
        "bulkhead.attempt": attempt,
        "bulkhead.adapter": adapter_id,
        "bulkhead.access_mode": access_mode,
      },
    };
    this.#attemptIsOfTurn = this.#turn !== null;
    this.#asked.set("", now.ms);
    return before;
  }

  #endAttempt(now: Moment, error: string | undefined): Span[] {
    if (this.#attempt === null) return [];
    const left = this.#endOpen(now);
    const span = this.#close(this.#attempt, now, { error });
    this.#attempt = null;
    return [...left, span];
  }

  /** A client's span of a later message lies in another trace mostly: the turn is linked to it. */
  #noteClient({ message_id, traceparent }: EventOf<"message_accepted">): void {
    if (readTraceparent(traceparent) === undefined) return;
    if (this.#clients.size < 64) this.#clients.set(message_id, tracePlace(this.#id, traceparent));
  }

  #beginTurn({ turn, by, message_ids }: EventOf<"turn_started">, now: Moment): void {
    const clients = message_ids.flatMap((id) => this.#clients.get(id) ?? []);
    for (const id of message_ids) this.#clients.delete(id);
    const [client] = clients;
    this.#link = client === undefined ? undefined : { trace_id: client.trace_id, span_id: client.parent! };
    this.#turn = {
      part: `turn ${turn}`,
      parent: this.#idOf(this.#session),
      name: `turn ${turn}`,
      start_ms: now.ms,
      attributes: { "bulkhead.turn": turn, "bulkhead.turn.by": by },
    };
    this.#asked.set("", now.ms);
  }

  #endTurn(event: EventOf<"turn_ended">, now: Moment): Span[] {
    if (this.#turn === null) return [];
    const failed = event.outcome === "completed" ? undefined : errorClass(event.error?.code ?? event.stop_reason);
    const left = this.#attemptIsOfTurn ? this.#endAttempt(now, failed) : [];
    this.#attemptIsOfTurn = false;
    const span = this.#close(this.#turn, now, {
      error: failed,
      attributes: {
        ...usageAttributes(event.usage),
        "bulkhead.outcome": event.outcome,
        "bulkhead.stop_reason": event.stop_reason,
        "gen_ai.output.messages": this.#content ? messagesOf("assistant", event.output) : undefined,
      },
    });
    this.#turn = null;
    return [...left, { ...span, link: this.#link }];
  }

  #modelCall(event: EventOf<"usage">, now: Moment): Span[] {
    const { agent_id = "", scope, tokens_in, tokens_out, tokens_cached } = event;
    if (scope !== "turn") return [];
    const model = shownModel(event.model) ?? this.#model;
    const attributes = {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": now.adapter,
      "gen_ai.request.model": model,
      ...usageAttributes({ tokens_in, tokens_out, tokens_cached }),
      // Agents tell what a call used, not when they made it.
      "bulkhead.start_estimated": true,
    };
    const asked = this.#asked.get(agent_id) ?? this.#agents.get(agent_id)?.start_ms ?? now.ms;
    this.#noteInput(agent_id, now);
    const open: OpenSpan = {
      part: `chat ${++this.#calls}`,
      parent: this.#parentOf(agent_id),
      name: model === undefined ? "chat" : `chat ${model}`,
      start_ms: asked,
      attributes,
    };
    // What an agent of the agent used is in the session's figures already.
    const measurements = agent_id === "" ? tokenMeasurements("chat", { ...event, model, adapter: now.adapter }) : [];
    if (measurements.length > 0) this.#countsCalls = true;
    return [this.#close(open, now, { kind: 3, measurements })];
  }

  #beginTool({ call_id, tool, kind, input, agent_id = "" }: EventOf<"tool_call">, now: Moment): void {
    const name = shownName(tool, kind);
    this.#tools.set(call_id, {
      part: `tool ${call_id}`,
      parent: this.#parentOf(agent_id),
      name: `execute_tool ${name}`,
      start_ms: now.ms,
      attributes: {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        // The agent's own id, which only a digest can keep from being a text.
        "gen_ai.tool.call.id": shownName(call_id, spanIdOf(this.#id, `tool ${call_id}`)),
        "gen_ai.tool.call.arguments": this.#content ? contentOf(input) : undefined,
        "bulkhead.tool.kind": kind,
      },
    });
  }

  #endTool({ call_id, output, success, agent_id = "" }: EventOf<"tool_result">, now: Moment): Span[] {
    const open = this.#tools.get(call_id);
    if (open === undefined) return [];
    this.#tools.delete(call_id);
    this.#noteInput(agent_id, now);
    const error = success ? undefined : "tool_error";
    return [this.#close(open, now, {
      error,
      attributes: { "gen_ai.tool.call.result": this.#content ? contentOf(output) : undefined },
      measurements: [duration("gen_ai.execute_tool.duration", {
        from: open.start_ms,
        to: now.ms,
        attributes: {
          "gen_ai.tool.name": open.attributes["gen_ai.tool.name"],
          "gen_ai.agent.name": now.adapter,
          "error.type": error,
        },
      })],
    })];
  }

  #beginAgent({ agent_id, call_id, parent = "", name, prompt }: EventOf<"agent_started">, now: Moment): void {
    const tool = call_id === undefined ? undefined : this.#tools.get(call_id);
    const shown = shownName(name, "agent");
    if (this.#agents.size >= mostAgents) return;
    this.#agents.set(agent_id, {
      part: `agent ${agent_id}`,
      parent: tool === undefined ? this.#parentOf(parent) : this.#idOf(tool),
      name: `invoke_agent ${shown}`,
      start_ms: now.ms,
      attributes: {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": shown,
        "gen_ai.agent.id": shownName(agent_id, spanIdOf(this.#id, `agent ${agent_id}`)),
        "gen_ai.input.messages": this.#content ? messagesOf("user", prompt) : undefined,
      },
    });
    this.#noteInput(agent_id, now);
  }

  /** Only of agents that are known: an adapter may name as many as it sends events. */
  #noteInput(agentId: string, { ms }: Moment): void {
    if (agentId === "" || this.#agents.has(agentId)) this.#asked.set(agentId, ms);
  }

  #endAgent({ agent_id, outcome, usage, output }: EventOf<"agent_ended">, now: Moment): Span[] {
    const open = this.#agents.get(agent_id);
    if (open === undefined) return [];
    this.#agents.delete(agent_id);
    this.#asked.delete(agent_id);
    return [this.#close(open, now, {
      error: outcome === "completed" ? undefined : outcome === "error" ? "agent_error" : "interrupted",
      attributes: {
        ...(usage === undefined ? {} : usageAttributes(usage)),
        "gen_ai.output.messages": this.#content ? messagesOf("assistant", output) : undefined,
      },
    })];
  }

  #beginProgram({ process_id, pid, argv }: EventOf<"process_spawned">, now: Moment): void {
    const name = shownName(argv[0]?.split(/[\\/]/).at(-1), "program");
    this.#programs.set(process_id, {
      part: `process ${process_id}`,
      parent: this.#parentOf(""),
      name: `process ${name}`,
      start_ms: now.ms,
      attributes: { "process.pid": pid, "process.executable.name": name },
    });
  }

  #endProgram({ process_id, exit_code, signal }: EventOf<"process_exited">, now: Moment): Span[] {
    const open = this.#programs.get(process_id);
    if (open === undefined) return [];
    this.#programs.delete(process_id);
    return [this.#close(open, now, {
      error: exit_code === 0 ? undefined : signal === null ? "exit_code" : errorClass(signal.toLowerCase()),
      attributes: { "process.exit.code": exit_code },
    })];
  }

  #end({ result }: EventOf<"session_ended">, now: Moment): Span[] {
    const { outcome, stop_reason, usage, error } = result;
    const failed = outcome === "completed" ? undefined : errorClass(error?.code ?? stop_reason);
    const left = [...this.#endAttempt(now, failed), ...this.#endOpen(now)];
    if (this.#turn !== null) left.push(this.#close(this.#turn, now, { error: failed }));
    const model = shownModel(usage?.model) ?? this.#model;
    const counted = { adapter: now.adapter, model, tokens_in: usage?.tokens_in, tokens_out: usage?.tokens_out };
    const span = this.#close(this.#session, now, {
      error: failed,
      attributes: {
        "gen_ai.agent.name": now.adapter,
        "gen_ai.agent.version": this.#version,
        "gen_ai.provider.name": now.adapter,
        "gen_ai.request.model": model,
        ...(usage === undefined ? {} : usageAttributes(usage)),
        "gen_ai.input.messages": this.#content ? messagesOf("user", this.#started.requested.prompt) : undefined,
        "gen_ai.output.messages": this.#content ? messagesOf("assistant", result.output) : undefined,
        "bulkhead.outcome": outcome,
        "bulkhead.stop_reason": stop_reason,
        "bulkhead.cost": usage?.cost,
        "bulkhead.cost.currency": usage?.currency,
      },
      measurements: [
        duration("gen_ai.invoke_agent.duration", {
          from: this.#session.start_ms,
          to: now.ms,
          attributes: { "gen_ai.agent.name": now.adapter, "gen_ai.request.model": model, "error.type": failed },
        }),
        ...(this.#countsCalls ? [] : tokenMeasurements("invoke_agent", counted)),
      ],
    });
    return [...left, { ...span, parent: this.place.parent }];
  }

  /** Ends what is left of an attempt: no event will end it any more. */
  #endOpen(now: Moment): Span[] {
    const left = [...this.#tools.values(), ...this.#agents.values(), ...this.#programs.values()];
    for (const open of [this.#tools, this.#agents, this.#programs]) open.clear();
    this.#asked.clear();
    return left.map((open) => this.#close(open, now, { attributes: { "bulkhead.unfinished": true } }));
  }

  /** The span that work of an agent lies in: its own, or that of the session's attempt or turn. */
  #parentOf(agentId: string): string {
    return this.#idOf(this.#agents.get(agentId) ?? this.#attempt ?? this.#turn ?? this.#session);
  }

  #idOf({ part }: Pick<OpenSpan, "part">): string {
    return spanIdOf(this.#id, part);
  }

  #close(
    { name, parent, start_ms, attributes, part }: OpenSpan,
    { ms }: Moment,
    { error, kind = 1, measurements = [], attributes: more = {} }: Partial<
      Pick<Span, "error" | "kind" | "measurements" | "attributes">
    >,
  ): Span {
    return {
      trace_id: this.place.trace_id,
      span_id: this.#idOf({ part }),
      parent,
      name,
      kind,
      start_ms,
      end_ms: Math.max(ms, start_ms),
      attributes: { ...attributes, ...more, "error.type": error },
      error,
      measurements,
    };
  }
}
