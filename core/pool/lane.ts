import type { TSchema } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import type { AgentConfig } from "../../plugin-sdk/context.ts";
import { errorFromData, type ErrorData } from "../../plugin-sdk/errors.ts";
import type { SessionRequest } from "../../plugin-sdk/request.ts";
import { guestMessageSchemas } from "../channel/message-schemas.ts";
import { MessageReader, sendText } from "../channel/messages.ts";
import {
  type AdapterCall,
  type DoneMessage,
  type GuestMessage,
  type HostMessage,
  protocolVersion,
  type SessionFacts,
} from "../channel/protocol.ts";
import type { Limits } from "../config/limits.ts";
import { toErrorData } from "../errors/to-error-data.ts";
import type { LaneEnd, LaneTransport } from "./lane-transport.ts";

const checks = new Map(
  Object.entries(guestMessageSchemas).map(([type, schema]: [string, TSchema]) => [type, TypeCompiler.Compile(schema)]),
);

/** What one entry into an adapter is opened with. */
export interface EntryOptions {
  call: AdapterCall;
  request: SessionRequest | null;
  config: AgentConfig;
  facts: SessionFacts;
  /** Takes a batch of what the adapter yielded, unchecked. Give credit back with {@link Entry.addCredit}. */
  onEvents(events: unknown[]): void;
  /** Does a broker operation. */
  onCall(operation: string, args: unknown): Promise<unknown>;
}

/** How an entry ended. `lost` says that its worker died under it. */
export type EntryEnd = { value: unknown } | { error: ErrorData; lost?: LaneEnd };

/** One entry into an adapter, as the host sees it. */
export interface Entry {
  readonly ended: Promise<EntryEnd>;
  addCredit(events: number): void;
  /** Asks the adapter to end, and ends its worker when even the guest does not answer. */
  cancel(error: ErrorData): void;
}

interface LiveEntry {
  options: EntryOptions;
  end(end: EntryEnd): void;
  calls: number;
}

/** What a lane serves. */
export interface LaneOptions {
  pluginId: string;
  script: string;
  limits: Limits;
}

/** The host's side of one worker thread: opens entries on it, keeps it honest, and ends it when it is not. */
export class Lane {
  readonly #transport: LaneTransport;
  readonly #options: LaneOptions;
  readonly #messages: MessageReader;
  readonly #entries = new Map<number, LiveEntry>();
  readonly #loaded: Promise<void>;
  #settleLoad!: (error?: ErrorData) => void;
  #nextSid = 1;
  #served = 0;
  #protocolErrors = 0;
  #pings = 0;
  #unanswered: { n: number; at: number } | null = null;
  #heartbeat: ReturnType<typeof setInterval> | undefined;
  #end: LaneEnd | null = null;
  #killReason: { code: ErrorData["code"]; message: string } | null = null;
  /** Settles when the thread is gone. */
  readonly ended: Promise<LaneEnd>;

  constructor(transport: LaneTransport, options: LaneOptions) {
    this.#transport = transport;
    this.#options = options;
    this.#messages = new MessageReader(options.limits.message_bytes);
    this.#loaded = new Promise((resolve, reject) => {
      this.#settleLoad = (error) => error ? reject(errorFromData(error)) : resolve();
    });
    this.#loaded.catch(() => {});
    transport.onPayload((payload) => this.#take(payload));
    this.ended = transport.ended.then((end) => this.#close(end));
    this.#load();
  }

  /** Entries under way. */
  get load(): number {
    return this.#entries.size;
  }

  /** Entries ever opened. */
  get served(): number {
    return this.#served;
  }

  get alive(): boolean {
    return this.#end === null && this.#killReason === null;
  }

  /** True when the host itself ended the worker for no fault of the plugin. */
  get orderly(): boolean {
    return this.#killReason?.code === "host_closed";
  }

  /** Resolves when the plugin's script is evaluated and its adapter is whole; rejects with why not. */
  get loaded(): Promise<void> {
    return this.#loaded;
  }

  /** Opens an entry. The lane must be loaded. */
  open(options: EntryOptions): Entry {
    const sid = this.#nextSid++;
    this.#served++;
    let end!: (end: EntryEnd) => void;
    const ended = new Promise<EntryEnd>((resolve) => (end = resolve));
    const { limits } = this.#options;
    if (!this.alive) {
      end(this.#lostEnd());
    } else {
      this.#entries.set(sid, { options, end, calls: 0 });
      const { call, request, config, facts } = options;
      this.#send({ type: "open", sid, call, request, config, facts, credit: limits.event_credit });
    }
    return {
      ended,
      addCredit: (events) => {
        if (this.#entries.has(sid)) this.#send({ type: "credit", sid, events });
      },
      cancel: (error) => this.#cancel(sid, error),
    };
  }

  /** Ends the worker and all its entries. */
  kill(code: ErrorData["code"], message: string): void {
    if (this.#killReason || this.#end) return;
    this.#killReason = { code, message };
    clearInterval(this.#heartbeat);
    // Nobody waits for a dying thread: its entries end now.
    this.#endEntries();
    this.#settleLoad({ code, message });
    this.#transport.kill(message);
  }

  #load(): void {
    const { pluginId, script, limits } = this.#options;
    this.#send({
      type: "load",
      protocol: protocolVersion,
      plugin_id: pluginId,
      script,
      limits: {
        frame_bytes: limits.frame_bytes,
        timers: limits.timers,
        calls_in_flight: limits.calls_in_flight,
        teardown_timeout_ms: limits.teardown_timeout_ms,
      },
    });
    const timer = setTimeout(() => {
      this.kill("load_failed", `The plugin was not loaded within ${limits.load_timeout_ms} ms.`);
    }, limits.load_timeout_ms);
    const stop = () => clearTimeout(timer);
    this.#loaded.then(stop, stop);
    this.#loaded.then(() => this.#startHeartbeat(), () => {});
  }

  #startHeartbeat(): void {
    if (!this.alive) return;
    this.#heartbeat = setInterval(() => this.#beat(), this.#options.limits.heartbeat_interval_ms);
    this.#heartbeat.unref?.();
  }

  #beat(): void {
    const { heartbeat_timeout_ms } = this.#options.limits;
    const now = performance.now();
    if (!this.#unanswered) {
      this.#unanswered = { n: ++this.#pings, at: now };
      this.#send({ type: "ping", n: this.#pings });
    } else if (now - this.#unanswered.at >= heartbeat_timeout_ms) {
      this.kill("unresponsive", `The plugin's worker did not answer for ${heartbeat_timeout_ms} ms.`);
    }
  }

  #send(message: HostMessage): void {
    if (!this.alive) return;
    const { id } = this.#transport;
    sendText(JSON.stringify(message), {
      lane: id,
      frameBytes: this.#options.limits.frame_bytes,
      post: (frame) => this.#transport.post(frame),
    });
  }

  #take(payload: Uint8Array): void {
    if (!this.alive) return;
    let message: unknown;
    try {
      const received = this.#messages.read(payload);
      if (!received) return;
      message = received.message;
    } catch (error) {
      return this.kill("protocol_violation", error instanceof Error ? error.message : "A message could not be read.");
    }
    const type = typeof message === "object" && message !== null && "type" in message ? String(message.type) : "";
    if (!checks.get(type)?.Check(message)) return this.#illegal();
    this.#dispatch(message as Exclude<GuestMessage, { type: "part" }>);
  }

  #dispatch(message: Exclude<GuestMessage, { type: "part" }>): void {
    switch (message.type) {
      case "events": {
        const entry = this.#entries.get(message.sid);
        return entry ? entry.options.onEvents(message.events) : this.#afterEnd(message.sid);
      }
      case "call":
        return this.#call(message);
      case "done":
        return this.#done(message);
      case "loaded":
        return this.#settleLoad(message.error);
      case "failed":
        return this.kill(message.error.code, message.error.message);
      case "pong":
        if (this.#unanswered?.n === message.n) this.#unanswered = null;
        return;
      default:
        message satisfies never;
    }
  }

  #call({ sid, id, op, args }: Extract<GuestMessage, { type: "call" }>): void {
    const entry = this.#entries.get(sid);
    if (!entry) return this.#afterEnd(sid);
    const cap = this.#options.limits.calls_in_flight;
    if (entry.calls >= cap) {
      const error = { code: "limit_exceeded" as const, message: `More than ${cap} calls are under way.` };
      return this.#send({ type: "reply", sid, id, error });
    }
    entry.calls++;
    const settle = (reply: { value: unknown } | { error: ErrorData }) => {
      entry.calls--;
      if (this.#entries.has(sid)) this.#send({ type: "reply", sid, id, ...reply });
    };
    entry.options.onCall(op, args).then(
      (value) => settle({ value }),
      (error: unknown) => settle({ error: toErrorData(error) }),
    );
  }

  #done({ sid, value, error }: DoneMessage): void {
    const entry = this.#entries.get(sid);
    if (!entry) return this.#afterEnd(sid);
    this.#entries.delete(sid);
    entry.end(error ? { error } : { value: value ?? null });
  }

  /** What crosses an end on its way is no offence; a number never given is. */
  #afterEnd(sid: number): void {
    if (sid <= 0 || sid >= this.#nextSid) this.#illegal();
  }

  #illegal(): void {
    if (++this.#protocolErrors >= this.#options.limits.protocol_errors) {
      this.kill("protocol_violation", "The plugin's worker sent too many messages that break the protocol.");
    }
  }

  #cancel(sid: number, error: ErrorData): void {
    if (!this.#entries.has(sid)) return;
    const { teardown_timeout_ms, agent_grace_ms, heartbeat_timeout_ms } = this.#options.limits;
    this.#send({ type: "cancel", sid, error });
    // The guest gives the adapter its teardown time three times over at most; a guest that is later is stuck.
    const ms = 3 * teardown_timeout_ms + agent_grace_ms + heartbeat_timeout_ms;
    setTimeout(() => {
      if (this.#entries.has(sid)) this.kill("unresponsive", "The plugin's worker did not end a session it was told to end.");
    }, ms).unref?.();
  }

  #close(end: LaneEnd): LaneEnd {
    this.#end = end;
    clearInterval(this.#heartbeat);
    this.#endEntries();
    this.#settleLoad(this.#lostEnd().error);
    return end;
  }

  #endEntries(): void {
    const end = this.#lostEnd();
    for (const entry of this.#entries.values()) entry.end(end);
    this.#entries.clear();
  }

  #lostEnd(): { error: ErrorData; lost: LaneEnd } {
    const lost: LaneEnd = this.#end ?? { reason: "closed", message: this.#killReason?.message ?? "The worker was stopped." };
    if (this.#killReason) {
      const { code } = this.#killReason;
      return { error: this.#killReason, lost: { ...lost, reason: code === "out_of_memory" ? code : lost.reason } };
    }
    return { error: { code: lost.reason === "out_of_memory" ? "out_of_memory" : "crash", message: lost.message }, lost };
  }
}
