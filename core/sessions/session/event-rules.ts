import type {
  AdapterEvent,
  CompletedEvent,
  ErrorEvent,
  PermissionRequestEvent,
  QuestionEvent,
  ToolCallEvent,
  ToolResultEvent,
} from "../../../plugin-sdk/events.ts";
import { unnamedTool } from "../../../plugin-sdk/event-building.ts";
import { TextTail } from "../../../plugin-sdk/text-tail.ts";
import type { ToolKind } from "../../../plugin-sdk/tool-kinds.ts";
import { isEnding, refusalOf, refusedEvent } from "../../ground/checks/refused-event.ts";
import type { Limits } from "../../ground/config/limits.ts";
import type { LogEntry } from "./merged-log.ts";
import { RequestUses } from "./request-uses.ts";
import { TurnSigns } from "./turn-signs.ts";

/** Limits on the requests that wait for an answer at the same time. */
type RequestLimits = Pick<Limits, "open_requests" | "open_request_bytes">;

/**
 * Holds one session's events to the rules of the stream, even if the adapter yields nonsense: every tool call gets one
 * result, every permission request one resolution. An event that breaks a rule becomes `unparsed`.
 */
export class EventRules {
  readonly #openCalls = new Map<string, { tool: string; kind: ToolKind }>();
  readonly #closedCalls = new Set<string>();
  readonly #requests = new RequestUses();
  /** Signs of what the agent changed in the turn under way. */
  readonly signs: TurnSigns = new TurnSigns();
  readonly #claimed = new Set<string>();
  /** Characters of all claimed paths, which the result contains. */
  #claimedText = 0;
  readonly #text = new TextTail(maxText);
  #last: CompletedEvent | ErrorEvent | null = null;
  #refusedEnd: string | null = null;
  #toolCalls = 0;
  /** Those of this attempt or turn. */
  #callsNow = 0;
  #attempt = 1;
  readonly #replayed: boolean;

  /** @param options.replayed events come from the log, where ids are final */
  constructor({ replayed = false }: { replayed?: boolean } = {}) {
    this.#replayed = replayed;
  }

  /** Begins another attempt or turn, under a number of its own: text and ids start again, claims and tool calls stay counted. */
  begin(number: number): void {
    this.#attempt = number;
    this.#callsNow = 0;
    this.#closedCalls.clear();
    this.#requests.restart();
    this.restart();
  }

  /** Discards the previous attempt's text and last word. */
  restart(): void {
    this.#text.clear();
    this.#last = null;
    this.#refusedEnd = null;
  }

  /** Forgets the claimed changes after they were undone. */
  forgetClaims(): void {
    this.#claimed.clear();
    this.#claimedText = 0;
  }

  /**
   * Returns an adapter's id as the stream shows it, where ids of several attempts must not collide. An id that looks
   * like a later attempt's is renamed in the first attempt too; otherwise one adapter could receive an answer meant for
   * another.
   */
  streamId(id: string): string {
    if (this.#replayed || (this.#attempt === 1 && !renamedId.test(id))) return id;
    return `${this.#attempt}.${id}`;
  }

  /**
   * Applies the rules to one checked event of the adapter; the returned event goes into the log.
   * @param limits of a live adapter; events from the log were already checked when they arrived
   */
  accept(yielded: AdapterEvent, limits?: RequestLimits): AdapterEvent {
    const event = this.#withStreamIds(yielded);
    switch (event.type) {
      case "tool_call":
        return this.#openCall(event);
      case "tool_result":
        return this.#closeCall(event);
      case "permission_request":
      case "question":
        return this.#openRequest(event, limits);
      case "request_withdrawn": {
        const request_id = this.#requests.withdraw(event.request_id);
        if (request_id === null) return broken(event, "no request has that request_id");
        return request_id === event.request_id ? event : { ...event, request_id };
      }
      case "output":
        if (event.stream === "stdout" && event.agent_id === undefined) this.#text.add(event.data);
        return event;
      case "file_change":
        this.#claim(event.path);
        return event;
      case "completed":
        for (const path of event.files_changed) this.#claim(path);
        this.#last = event;
        return event;
      case "error":
        this.#last = event;
        return event;
      case "unparsed": {
        const refusal = refusalOf(event);
        if (refusal !== null && isEnding(refusal)) this.#refusedEnd = refusal.problem;
        return event;
      }
      default:
        return event;
    }
  }

  /** Marks a permission request or question as answered; false when it was not open. */
  resolve(requestId: string): boolean {
    return this.#requests.resolve(requestId);
  }

  /** Returns the name in the stream of the request whose answer belongs to an adapter's id; null for none. */
  answeredBy(requestId: string): string | null {
    return this.#requests.answeredBy(requestId);
  }

  /** Returns true for an open request that the agent itself has ended. */
  hasEnded(requestId: string): boolean {
    return this.#requests.hasEnded(requestId);
  }

  /** Returns the open requests that the agent itself has ended since the last time. */
  takeEnded(): string[] {
    return this.#requests.takeEnded();
  }

  #openCall(event: ToolCallEvent): AdapterEvent {
    if (this.#openCalls.has(event.call_id) || this.#closedCalls.has(event.call_id)) {
      return broken(event, "its call_id was used before");
    }
    if (this.#callsNow >= maxRemembered) return broken(event, `more than ${maxRemembered} tool calls`);
    this.#openCalls.set(event.call_id, { tool: event.tool, kind: event.kind });
    this.signs.begin(event.call_id);
    this.#toolCalls++;
    this.#callsNow++;
    return event;
  }

  #closeCall(event: ToolResultEvent): AdapterEvent {
    const call = this.#openCalls.get(event.call_id);
    if (call === undefined) return broken(event, "no tool call of that call_id is open");
    this.#openCalls.delete(event.call_id);
    this.signs.end(event.call_id);
    this.#closedCalls.add(event.call_id);
    this.#requests.endOf(event.call_id);
    return event.tool === unnamedTool && call.tool !== unnamedTool ? { ...event, tool: call.tool } : event;
  }

  #openRequest(yielded: PermissionRequestEvent | QuestionEvent, limits: RequestLimits | undefined): AdapterEvent {
    const event = yielded.call_id === undefined ? yielded : { ...yielded, call_id: this.streamId(yielded.call_id) };
    const begun = this.#requests.begin(event, {
      streamId: this.streamId(event.request_id),
      limits,
      isReplayed: this.#replayed,
    });
    if ("problem" in begun) return broken(yielded, begun.problem);
    return begun.streamId === yielded.request_id && event.call_id === yielded.call_id
      ? yielded
      : { ...event, request_id: begun.streamId };
  }

  /** Whether a tool of the agent runs, as far as the agent tells. */
  get hasOpenCall(): boolean {
    return this.#openCalls.size > 0;
  }

  /** Returns the kind of an open tool call; null for a call that is not open. */
  kindOf(callId: string | undefined): ToolKind | null {
    return callId === undefined ? null : this.#openCalls.get(callId)?.kind ?? null;
  }

  /** Returns the events that the host adds in the adapter's place when an attempt ends. */
  finish(): LogEntry[] {
    const calls = [...this.#openCalls].map(([call_id, { tool }]): LogEntry => ({
      source: "host",
      synthetic: true,
      event: {
        type: "tool_result",
        call_id,
        tool,
        output: "The turn ended before the tool answered.",
        success: false,
        duration_ms: null,
      },
    }));
    const requests = this.#requests.finish().map((request_id): LogEntry => ({
      source: "host",
      synthetic: true,
      event: { type: "permission_resolved", request_id, choice: null, by: "session_end" },
    }));
    this.#openCalls.clear();
    return [...calls, ...requests];
  }

  /** Returns the same object when no id in it is renamed. */
  #withStreamIds(event: AdapterEvent): AdapterEvent {
    switch (event.type) {
      case "tool_call":
      case "tool_result": {
        const call_id = this.streamId(event.call_id);
        return call_id === event.call_id ? event : { ...event, call_id };
      }
      default:
        return event;
    }
  }

  #claim(path: string): void {
    this.signs.name(path);
    if (this.#claimed.size >= maxRemembered || this.#claimedText >= maxText || this.#claimed.has(path)) return;
    this.#claimed.add(path);
    this.#claimedText += path.length;
  }

  /** Returns the current attempt's last word, if it had one. */
  get lastWord(): CompletedEvent | ErrorEvent | null {
    return this.#last;
  }

  /** Returns why the host refused a last word of the current attempt; null if it refused none. */
  get refusedEnd(): string | null {
    return this.#refusedEnd;
  }

  /** Changes the output of the attempt: what has to be replaced in it may have come in pieces. */
  reword(change: (text: string) => string): void {
    const before = this.#text.text;
    const after = change(before);
    if (after === before) return;
    this.#text.clear();
    this.#text.add(after);
  }

  /** Returns the end of the agent's output in the current attempt. */
  get text(): string {
    return this.#text.text;
  }

  /** Returns the paths that the agent says it changed. */
  get claimedPaths(): string[] {
    return [...this.#claimed];
  }

  /** Returns the number of tool calls in the whole session. */
  get toolCalls(): number {
    return this.#toolCalls;
  }
}

/** Characters of the agent's output, and of its claims. */
const maxText = 1024 * 1024;

/** Prefix of the ids of the second and later attempts. */
const renamedId = /^\d+\./;

/** Most ids and paths remembered for one session: a flood of new ones must not exhaust the host's memory. */
const maxRemembered = 10_000;

function broken(event: AdapterEvent, problem: string): AdapterEvent {
  return refusedEvent({ problem: `This ${event.type} breaks a rule: ${problem}.`, yielded: event });
}

/** Counts one turn's events, over all its attempts, against the limits for a session. */
export class EventAllowance {
  #events = 0;
  #bytes = 0;

  /** Begins another turn. */
  begin(): void {
    this.#events = 0;
    this.#bytes = 0;
  }

  /** Returns the number of events in this turn. */
  get events(): number {
    return this.#events;
  }

  /** Returns how many events of a batch are still allowed, and the problem if that is not all of them. */
  take(
    batch: { events: number; bytes: number },
    { events, event_bytes_total }: Pick<Limits, "events" | "event_bytes_total">,
  ): { kept: number; problem: string | null } {
    this.#bytes += batch.bytes;
    if (this.#bytes > event_bytes_total) {
      return { kept: 0, problem: `The session's events had more than ${event_bytes_total} bytes.` };
    }
    const kept = Math.max(0, Math.min(batch.events, events - this.#events));
    this.#events += kept;
    return { kept, problem: kept < batch.events ? `The session had more than ${events} events.` : null };
  }
}
