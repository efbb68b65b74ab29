import { type ErrorData, errorFromData } from "../../../plugin-sdk/errors.ts";
import { checksByType } from "../../ground/checks/lazy-check.ts";
import { batchCharacters, creditOf } from "../channel/count-values.ts";
import { isShallow } from "../../ground/checks/depth.ts";
import { guestMessageSchemas } from "../channel/message-schemas.ts";
import { MessageReader, type ReceivedMessage, sendText } from "../channel/messages.ts";
import { encodeTextReply } from "../channel/text-reply.ts";
import {
  type AdapterIdentity,
  type DoneMessage,
  type GuestMessage,
  type HostMessage,
  maxYieldedArray,
  protocolVersion,
} from "../channel/protocol.ts";
import type { Limits } from "../../ground/config/limits.ts";
import { saidByAdapter, saidByGuest } from "../../ground/errors/said-by-adapter.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import { unpackEvents } from "../../ground/checks/packed-events.ts";
import { TokenBucket } from "../../ground/checks/token-bucket.ts";
import { Heartbeat } from "./heartbeat.ts";
import type { EntryEnd, EntryOptions, LaneEntry } from "./lane-entry.ts";
import type { LaneEnd, LaneTransport } from "./lane-transport.ts";

const checks = checksByType(guestMessageSchemas);

/** Characters of a batch beside its events and the number of its entry. */
const aroundEvents = '{"type":"events","sid":,"events":[]}'.length;

type WholeMessage = Exclude<GuestMessage, { type: "part" }>;
type MessageOf<Type extends WholeMessage["type"]> = Extract<WholeMessage, { type: Type }>;
/** Text and size of a message as it came. */
type CameAs = { bytes: number; text: string; eventsText: string | undefined };

interface LiveEntry {
  options: EntryOptions;
  end(end: EntryEnd): void;
  calls: number;
  /** Remaining credit; an array and a huge event may overdraw it. */
  credit: number;
  cpuMs: number;
}

interface LaneOptions {
  pluginId: string;
  script: string;
  limits: Limits;
}

/** The host's side of one worker thread: opens entries on it, checks its messages, and ends it when it misbehaves. */
export class Lane {
  readonly #transport: LaneTransport;
  readonly #options: LaneOptions;
  readonly #messages: MessageReader;
  readonly #entries = new Map<number, LiveEntry>();
  readonly #loaded: Promise<void>;
  #settleLoad!: (error?: ErrorData) => void;
  #isLoaded = false;
  #identity: AdapterIdentity = {};
  #nextSid = 1;
  #served = 0;
  #protocolErrors = 0;
  /** Bytes of the incoming message, which may be in parts. */
  #messageBytes = 0;
  readonly #rate: TokenBucket;
  #cpuMs = 0;
  readonly #heartbeat: Heartbeat;
  #end: LaneEnd | null = null;
  #killReason: { code: ErrorData["code"]; message: string } | null = null;
  /** Settles when the thread is gone. */
  readonly ended: Promise<LaneEnd>;
  /** Settles when it takes no more work; its thread may still be dying. */
  readonly over: Promise<void>;
  #settleOver!: () => void;

  constructor(transport: LaneTransport, options: LaneOptions) {
    this.#transport = transport;
    this.#options = options;
    const { message_bytes, event_values } = options.limits;
    this.#messages = new MessageReader(message_bytes, event_values);
    this.#rate = new TokenBucket(options.limits.messages_per_second, performance.now());
    this.#loaded = new Promise((resolve, reject) => {
      this.#settleLoad = (error) => error ? reject(errorFromData(error)) : resolve();
    });
    this.#loaded.catch(() => {});
    this.over = new Promise((resolve) => (this.#settleOver = resolve));
    this.#heartbeat = this.#makeHeartbeat();
    transport.onPayload((payload) => this.#take(payload));
    this.ended = transport.ended.then((end) => this.#close(end));
    this.#load();
  }

  /** Number of entries under way. */
  get load(): number {
    return this.#entries.size;
  }

  /** Number of entries ever opened. */
  get served(): number {
    return this.#served;
  }

  get alive(): boolean {
    return this.#end === null && this.#killReason === null;
  }

  /** Failure of the worker; null while it lives, and when the host ended it for no fault of the plugin. */
  get crash(): ErrorData | null {
    if (this.alive || this.#killReason?.code === "host_closed") return null;
    return this.#lostEnd().error;
  }

  /** Resolves when the plugin's script is evaluated and its adapter is complete; rejects with the reason otherwise. */
  get loaded(): Promise<void> {
    return this.#loaded;
  }

  /** Returns who the adapter says it is; empty while it is not loaded. */
  get identity(): AdapterIdentity {
    return this.#identity;
  }

  /** Opens an entry. The lane must be loaded. */
  open(options: EntryOptions): LaneEntry {
    const sid = this.#nextSid++;
    this.#served++;
    let end!: (end: EntryEnd) => void;
    const ended = new Promise<EntryEnd>((resolve) => (end = resolve));
    const { limits } = this.#options;
    if (!this.alive) {
      end(this.#lostEnd());
    } else {
      this.#entries.set(sid, { options, end, calls: 0, credit: limits.event_credit, cpuMs: 0 });
      const { call, request, config, facts } = options;
      this.#send({ type: "open", sid, call, request, config, facts, credit: limits.event_credit });
    }
    return {
      ended,
      addCredit: (credit) => {
        const entry = this.#entries.get(sid);
        if (!entry) return;
        entry.credit += credit;
        this.#send({ type: "credit", sid, events: credit });
      },
      beginTurn: () => {
        const entry = this.#entries.get(sid);
        if (entry) entry.cpuMs = 0;
      },
      cancel: (error) => this.#cancel(sid, error),
    };
  }

  /** Charges the plugin time that its messages cost the host after they were taken. Milliseconds. */
  charge(ms: number): void {
    this.#transport.charge(ms);
  }

  /** Ends the worker and all its entries. */
  kill(code: ErrorData["code"], message: string): void {
    if (this.#killReason || this.#end) return;
    this.#killReason = { code, message };
    this.#heartbeat.stop();
    this.#settleOver();
    // End the entries now, without waiting for the dying thread.
    this.#endEntries();
    this.#settleLoad({ code, message });
    this.#transport.kill(message, { gently: code === "host_closed" });
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
        message_bytes: limits.message_bytes,
        event_bytes: limits.event_bytes,
        event_values: limits.event_values,
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
    this.#loaded.then(() => this.alive && this.#heartbeat.start(), () => {});
  }

  #makeHeartbeat(): Heartbeat {
    const { heartbeat_interval_ms, heartbeat_timeout_ms } = this.#options.limits;
    return new Heartbeat({
      intervalMs: heartbeat_interval_ms,
      timeoutMs: heartbeat_timeout_ms,
      heldMs: () => this.#transport.heldMs(),
      onBeat: () => this.#chargeCpu(),
      ping: (n) => this.#send({ type: "ping", n }),
      onSilence: () => {
        const why = "It may be in a loop without an await, or do much work at once.";
        this.kill("unresponsive", `The plugin's worker did not answer for ${heartbeat_timeout_ms} ms. ${why}`);
      },
    });
  }

  /** Charges each entry its share of the thread's usage since the last time. */
  #chargeCpu(): void {
    const used = this.#transport.cpuMs() ?? 0;
    const share = (used - this.#cpuMs) / Math.max(this.#entries.size, 1);
    const { cpu_ms } = this.#options.limits;
    this.#cpuMs = used;
    for (const [sid, entry] of this.#entries) {
      entry.cpuMs += share;
      if (entry.cpuMs <= cpu_ms) continue;
      this.#cancel(sid, {
        code: "limit_exceeded",
        message: `The session used more than ${cpu_ms} ms of processor time.`,
      });
      entry.cpuMs = -Infinity;
    }
  }

  #send(message: HostMessage): void {
    if (!this.alive) return;
    const { id } = this.#transport;
    const text = message.type === "reply" ? encodeTextReply(id, message) : null;
    if (text !== null) return this.#transport.post(text);
    sendText(JSON.stringify(message), {
      lane: id,
      frameBytes: this.#options.limits.frame_bytes,
      post: (frame) => this.#transport.post(frame),
    });
  }

  #take(payload: Uint8Array): void {
    if (!this.alive) return;
    const { messages_per_second } = this.#options.limits;
    if (this.#rate.take(1, performance.now()) > 0) {
      return this.kill(
        "protocol_violation",
        `The plugin's worker sent more than ${messages_per_second} messages in a second.`,
      );
    }
    let received: ReceivedMessage | null;
    try {
      this.#messageBytes += payload.length;
      received = this.#messages.read(payload);
      if (!received) return;
    } catch (error) {
      return this.kill("protocol_violation", error instanceof Error ? error.message : "A message could not be read.");
    }
    const { message, text, eventsText } = received;
    const bytes = this.#messageBytes;
    this.#messageBytes = 0;
    const type = typeof message === "object" && message !== null && "type" in message ? message.type : undefined;
    if (typeof type !== "string" || !checks.get(type)?.Check(message)) return this.#illegal();
    this.#dispatch(message as WholeMessage, { bytes, text, eventsText });
  }

  #dispatch(message: WholeMessage, came: CameAs): void {
    switch (message.type) {
      case "events":
        return this.#events(message, came);
      case "call":
        return this.#call(message);
      case "done":
        return this.#fits(message) ? this.#done(message) : this.#illegal();
      case "loaded":
        return this.#hasLoaded(message);
      case "failed":
        return this.kill(saidByGuest(message.error).code, message.error.message);
      case "pong":
        return this.#heartbeat.take(message.n) ? undefined : this.#illegal();
      default:
        message satisfies never;
    }
  }

  #events({ sid, events }: MessageOf<"events">, { bytes, text, eventsText }: CameAs): void {
    const entry = this.#entries.get(sid);
    // Only the guest ends an entry, and sends nothing for it afterwards.
    if (!entry) return this.#illegal();
    const characters = text.length - aroundEvents - String(sid).length;
    if (characters > Math.max(batchCharacters, this.#options.limits.event_bytes)) {
      return this.kill("protocol_violation", "The plugin's worker sent an event that is too large.");
    }
    // Our guest always sends a large event alone.
    const credit = events.length === 1 ? creditOf(characters) : events.length;
    entry.credit -= credit;
    if (entry.credit < -maxYieldedArray) {
      return this.kill("protocol_violation", "The plugin's worker sent events without credit.");
    }
    const saved = unpackEvents(events);
    entry.options.onEvents(events, { bytes: bytes + saved, credit, text: eventsText });
  }

  #hasLoaded(message: MessageOf<"loaded">): void {
    if (this.#isLoaded) return this.#illegal();
    this.#isLoaded = true;
    if (message.protocol !== protocolVersion) {
      const versions = `${message.protocol} and not ${protocolVersion}`;
      return this.kill("protocol_violation", `The plugin's worker speaks protocol ${versions}.`);
    }
    if (!this.#fits(message)) {
      return this.kill("protocol_violation", "The worker's first message is nested too deeply.");
    }
    this.#identity = message.identity ?? {};
    this.#settleLoad(message.error && saidByAdapter(message.error));
  }

  #call({ sid, id, op, args }: MessageOf<"call">): void {
    const entry = this.#entries.get(sid);
    if (!entry) return this.#illegal();
    const { calls_in_flight: cap, message_depth } = this.#options.limits;
    if (entry.calls >= cap) {
      const error = { code: "limit_exceeded" as const, message: `More than ${cap} calls are under way.` };
      this.#send({ type: "reply", sid, id, error });
      // Our guest counts its own calls and never comes here.
      return this.#illegal();
    }
    if (!this.#fits(args)) {
      const message = `The arguments of a call are nested deeper than ${message_depth} levels.`;
      return this.#send({ type: "reply", sid, id, error: { code: "invalid_request", message } });
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

  #done({ sid, value, error, model }: DoneMessage): void {
    const entry = this.#entries.get(sid);
    if (!entry) return this.#illegal();
    this.#entries.delete(sid);
    const end = error ? { error: saidByAdapter(error) } : { value: value ?? null };
    entry.end(model === undefined ? end : { ...end, model });
  }

  /** True when data is no deeper than a message may be: deeper data would overflow the stack of its writer. */
  #fits(part: unknown): boolean {
    return isShallow(part, this.#options.limits.message_depth + 4);
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
    // The guest gives the adapter its teardown time three times at most; a guest that takes longer is stuck.
    const ms = 3 * teardown_timeout_ms + agent_grace_ms + heartbeat_timeout_ms;
    setTimeout(() => {
      if (this.#entries.has(sid)) {
        this.kill("unresponsive", "The plugin's worker did not end a session it was told to end.");
      }
    }, ms).unref?.();
  }

  #close(end: LaneEnd): LaneEnd {
    this.#end = end;
    this.#heartbeat.stop();
    this.#settleOver();
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
    const lost: LaneEnd = this.#end ??
      { reason: "closed", message: this.#killReason?.message ?? "The worker was stopped." };
    if (this.#killReason) {
      const { code } = this.#killReason;
      return { error: this.#killReason, lost: { ...lost, reason: code === "out_of_memory" ? code : lost.reason } };
    }
    return {
      error: { code: lost.reason === "out_of_memory" ? "out_of_memory" : "crash", message: lost.message },
      lost,
    };
  }
}
